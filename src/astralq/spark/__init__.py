"""The Spark engine: every query of the algebra as plain DataFrame expressions, exact and distributed."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from astralq.spark.engine import Engine

__all__ = ["Engine"]


def __getattr__(name: str) -> Any:
    """The engine brings PySpark with it, half a second that `astralq check` does without."""
    if name != "Engine":
        raise AttributeError(f"module 'astralq.spark' has no attribute {name!r}")
    from astralq.spark.engine import Engine

    return Engine
