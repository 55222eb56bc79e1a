"""Failpoints: where the crash tests kill the process, one after each step of the protocol."""

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
"""The steps that have a failpoint, in their order."""

_VARIABLE = "ASTRALQ_CRASH_AT"

watchers: list[Callable[[str, int], None]] = []
"""Called at every failpoint; a test adds one that raises, which is a crash that it can survive."""


def failpoint(point: str, number: int) -> None:
    """Marks that a step of an epoch or of a batch is complete.

    The process kills itself here if ASTRALQ_CRASH_AT names this step and number, as in "intent written:3".
    """
    assert point in POINTS, point
    for watch in watchers:
        watch(point, number)
    if os.environ.get(_VARIABLE) == f"{point}:{number}":
        os.kill(os.getpid(), signal.SIGKILL)
