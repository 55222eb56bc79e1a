"""What is timed: our queries against plain Spark, on the same data, with the same answers."""

from __future__ import annotations

from benchmarks import w2, w3, w5
from benchmarks.case import Case

CASES: tuple[Case, ...] = (*w2.CASES, *w3.CASES, *w5.CASES)
