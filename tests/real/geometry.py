"""Distances on the sphere by another formula than the engine's, from the positions' unit vectors."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise

RADIUS_M = 6_371_008.8

Place = tuple[float, float]
"""Longitude and latitude in degrees."""


def leg_mm(a: Place, b: Place) -> int:
    """The great-circle distance in whole millimetres: the arc over the chord between two unit vectors.

    This and haversine agree to 2·10⁻⁶ mm on these files, and no leg of the drifters or of the fishing vessels is nearer
    than 10⁻⁵ mm to a half millimetre: both round every leg to the same side, so that distances compare exactly.
    """
    chord = math.dist(_unit(a), _unit(b))
    return math.floor(2 * RADIUS_M * math.asin(chord / 2) * 1000 + 0.5)


def odometer_mm(places: list[Place]) -> list[int]:
    """How far one has travelled at each place."""
    return list(accumulate((leg_mm(a, b) for a, b in pairwise(places)), initial=0))


def _unit(place: Place) -> tuple[float, float, float]:
    lon, lat = map(math.radians, place)
    return math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)
