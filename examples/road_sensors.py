"""What the road's sensors measure in examples 07 to 09: something that is easy to follow."""

from __future__ import annotations

from typing import Any

MINUTE = 60_000_000


def measure(site: int, t: Any) -> tuple[int, int]:
    """The temperature and the vibration at a site; t is in microseconds, the minutes count from 12:00."""
    minute = int(t) // MINUTE % 60
    return 10 * (3 + (site + minute) % 3), 5 * (3 + site * (minute + 1) % 4)
