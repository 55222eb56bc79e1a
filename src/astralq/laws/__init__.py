"""Rewriting: from all operators to core operators. What a law says is checked against the model."""
