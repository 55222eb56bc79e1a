"""Comparisons of conventions."""
