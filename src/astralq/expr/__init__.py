"""Typed scalar expressions: read from SQL text, printed back, and evaluated for the model."""

from astralq.expr import arithmetic, nested, text_functions, time_functions  # noqa: F401  (they fill the table)
