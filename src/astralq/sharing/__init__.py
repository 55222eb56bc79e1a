"""Sharing: what several queries have in common, so that it is computed and kept once."""
