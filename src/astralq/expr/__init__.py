"""Typed scalar expressions: read from SQL text, printed back, and evaluated for the model."""

from astralq.expr import (  # noqa: F401  (they fill the table)
    arithmetic,
    collections,
    constructors,
    math_functions,
    nested,
    pattern_functions,
    text_functions,
    time_functions,
)
