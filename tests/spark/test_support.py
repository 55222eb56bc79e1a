"""Nothing that the model can do is missing on Spark."""

from __future__ import annotations

import inspect

from astralq.algebra import domain, relational, sneeql, sources, stream_ops, streamers, ticks, windows
from astralq.algebra.base import Operator, Unary
from astralq.spark import compile as compiler
from astralq.spark.support import UNSUPPORTED

HOLLOW = {"Operator", "Unary", "Composite", "_Streamer", "_Binary", "_Windows"}


def test_every_operator_has_its_case_in_the_compiler_or_a_reason() -> None:
    """Composites are compiled by their definitions."""
    text = inspect.getsource(compiler)
    modules = (domain, relational, sneeql, sources, stream_ops, streamers, ticks, windows)
    found = {c for m in modules for _, c in inspect.getmembers(m, inspect.isclass) if issubclass(c, Operator)}
    for operator in found - {Operator, Unary}:
        composite = issubclass(operator, stream_ops.Composite)
        if operator.__name__ not in HOLLOW and operator not in UNSUPPORTED and not composite:
            assert f"{operator.__name__}(" in text, f"{operator.__name__} is neither compiled nor excused"


def test_nothing_is_unsupported() -> None:
    assert UNSUPPORTED == {}
