"""Typed scalar expressions: read from SQL text, printed back, and evaluated for the model."""

from astralq.expr import (  # noqa: F401  (they fill the table)
    arithmetic,
    collections,
    constructors,
    more_math,
    more_text,
    more_time,
    nested,
    pattern_functions,
    text_functions,
    time_functions,
)
