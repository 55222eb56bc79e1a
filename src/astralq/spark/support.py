"""What the Spark engine does not support, and why: every row is a promise that is not kept yet."""

from __future__ import annotations

from astralq.algebra.base import Operator

UNSUPPORTED: dict[type[Operator], str] = {}
"""Operators of the model that do not run on Spark, each with the reason. There are none."""
