"""The Spark engine: every query of the algebra as plain DataFrame expressions, exact and distributed."""

from astralq.spark.engine import Engine

__all__ = ["Engine"]
