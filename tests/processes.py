"""The processes of this machine by what they run, read from /proc: a bare system has neither ps nor pgrep."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 1200.0
"""Seconds that a test waits for something before it gives it up for dead. Nothing takes nearly as long: a busy machine,
or one that is many times slower, must not make a test fail."""


def wait_until(condition: Callable[[], object], pause: float = 0.1) -> None:
    """Waits until the condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "nothing has happened for too long"
        time.sleep(pause)


def running(word: str) -> list[int]:
    """The numbers of the processes with a word in their command line, in order."""
    return sorted(int(p.parent.name) for p in Path("/proc").glob("[0-9]*/cmdline") if word.encode() in _read(p))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""  # it has ended
