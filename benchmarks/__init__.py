"""What is timed: our queries against plain Spark, on the same data, with the same answers."""

from __future__ import annotations

from benchmarks import w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w14, w15, w16, w17, w18
from benchmarks.case import Case

CASES: tuple[Case, ...] = tuple(
    case for w in (w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w14, w15, w16, w17, w18) for case in w.CASES
)
