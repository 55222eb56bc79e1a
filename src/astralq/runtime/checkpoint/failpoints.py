"""Where the crash tests kill the process: between each pair of steps of the protocol."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

POINTS = (
    "batch rows written",
    "batch manifest written",
    "intent written",
    "state written",
    "output staged",
    "commit written",
    "output published",
    "old files removed",
)
"""The steps, in their order."""

_VARIABLE = "ASTRALQ_CRASH_AT"

watchers: list[Callable[[str, int], None]] = []
"""What tests let happen at a step instead."""


def passed(point: str, number: int) -> None:
    """Says that a step of an epoch, or of a batch, is done. With ASTRALQ_CRASH_AT="intent written:3" it is the last."""
    assert point in POINTS, point
    for watch in watchers:
        watch(point, number)
    if os.environ.get(_VARIABLE) == f"{point}:{number}":
        os.kill(os.getpid(), signal.SIGKILL)
