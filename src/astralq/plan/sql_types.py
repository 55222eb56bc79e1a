"""Types as Spark's SQL writes them."""

from __future__ import annotations

from astralq.schema import Type


def spark_type(type_: Type) -> str:
    """The name of a type in Spark's schemas."""
    return {"INTERVAL": "interval day to second", "NULL": "void"}.get(type_.name, str(type_).lower())
