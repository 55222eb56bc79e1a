"""Pictures made of characters: bars of a column, and a map of a track; for terminals of 80 columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BLOCKS = " ▏▎▍▌▋▊▉█"


def bars(labels: Sequence[str], values: Sequence[float], width: int = 48) -> list[str]:
    """A bar for each value, from a little below the least to the greatest, and a line that says from where.

    >>> print("\\n".join(bars(["a", "b"], [1.0, 3.0], 4)))
    a  ▎     1.0
    b  ████  3.0
    (bars begin at 0.87)
    """
    low, high = min(values), max(values)
    low -= (high - low) / 15 or 1.0
    found = []
    for label, value in zip(labels, values, strict=True):
        eighths = round((value - low) / (high - low) * width * 8)
        bar = "█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()
        found.append(f"{label}  {bar:<{width}}  {value}")
    return [*found, f"(bars begin at {low:.2f})"]


def track_map(points: Sequence[tuple[float, float]], recent: int, width: int = 64) -> list[str]:
    """A track of longitudes and latitudes; the last so many points are set off from those before."""
    lons, lats = [p[0] for p in points], [p[1] for p in points]
    west, east, south, north = min(lons), max(lons), min(lats), max(lats)
    # A character is about twice as high as it is wide, and degrees of longitude shrink towards the poles.
    scale = (east - west) * math.cos(math.radians((south + north) / 2)) / width or 1.0
    height = max(3, min(16, math.ceil((north - south) / scale / 2) + 1))
    grid = [[" "] * (width + 1) for _ in range(height)]

    def put(lon: float, lat: float, mark: str) -> None:
        x = round((lon - west) / ((east - west) or 1) * width)
        y = round((north - lat) / ((north - south) or 1) * (height - 1))
        grid[y][x] = mark

    first_recent = len(points) - recent
    for k, (lon, lat) in enumerate(points):
        put(lon, lat, "●" if k >= first_recent else "·")
    put(*points[0], "○")
    put(*points[-1], "◎")
    frame = [f"│{''.join(row)}│" for row in grid]
    edge = "─" * (width + 1)
    corners = f"{_degrees(west, 'EW')} {_degrees(north, 'NS')}"
    other = f"{_degrees(east, 'EW')} {_degrees(south, 'NS')}"
    return [corners, f"┌{edge}┐", *frame, f"└{edge}┘", f"{other:>{width + 3}}"]


def _degrees(value: float, signs: str) -> str:
    """
    >>> _degrees(-163.25, "EW")
    '163.25° W'
    """
    return f"{abs(value):.2f}° {signs[0] if value >= 0 else signs[1]}"
