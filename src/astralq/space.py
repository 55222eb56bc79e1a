"""Space: distances in whole millimetres, legs between locations, and regions (paper 004)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NewType

from astralq.errors import SpaceError, nearest

Millimetres = NewType("Millimetres", int)
"""A distance; whole millimetres, so that sums of legs are exact whatever their order."""

EARTH_RADIUS_M = 6_371_008.8

_UNITS = {"mm": 1, "cm": 10, "m": 1_000, "km": 1_000_000, "mi": 1_609_344, "nmi": 1_852_000}
_UNITS |= {"kms": 1_000_000, "metre": 1_000, "metres": 1_000, "meter": 1_000, "meters": 1_000}
_UNITS |= {"kilometre": 1_000_000, "kilometres": 1_000_000, "kilometer": 1_000_000, "kilometers": 1_000_000}
_DISTANCE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def distance(text: str) -> Millimetres:
    """Reads a distance; whatever is not a whole number of millimetres is an error.

    >>> distance("50 km")
    50000000
    """
    match = _DISTANCE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise SpaceError(f"cannot read {text!r} as a distance", hint="write for example '50 km' or '200 m'")
    unit = match[2].lower()
    if unit not in _UNITS:
        raise SpaceError(
            f"unknown unit of distance {match[2]!r} in {text!r}",
            hint=nearest(unit, _UNITS) or "use mm, cm, m, km, mi or nmi",
        )
    total = Fraction(match[1]) * _UNITS[unit]
    if total.denominator != 1:
        raise SpaceError(f"{text!r} is not a whole number of millimetres", hint="round the distance")
    return Millimetres(int(total))


def is_distance(text: str) -> bool:
    """Whether a quantity has a unit of distance.

    >>> is_distance("200 m"), is_distance("10 min")
    (True, False)
    """
    match = _DISTANCE.fullmatch(text)
    return match is not None and match[2].lower() in _UNITS


def format_distance(d: Millimetres) -> str:
    """The distance in the largest of km, m and mm that divides it.

    >>> format_distance(distance("50 km")), format_distance(distance("1.5 km"))
    ('50 km', '1500 m')
    """
    size, unit = next((s, u) for s, u in ((1_000_000, "km"), (1_000, "m"), (1, "mm")) if d % s == 0)
    return f"{d // size} {unit}"


def located(x: float | Decimal | None, y: float | Decimal | None) -> bool:
    """Whether two coordinates are a location: both there, and both finite."""
    return x is not None and y is not None and math.isfinite(x) and math.isfinite(y)


def leg(x1: float, y1: float, x2: float, y2: float, *, planar: bool) -> Millimetres:
    """The length of the leg between two locations, rounded half up to whole millimetres.

    Haversine on longitudes and latitudes in degrees; planar: Euclid on metres.

    >>> leg(0.0, 0.0, 3.0, 4.0, planar=True)
    5000
    >>> leg(0.0, 0.0, 0.0, 1.0, planar=False)  # a degree of latitude, 111.195 km
    111195080
    """
    if planar:
        dx, dy = x2 - x1, y2 - y1
        metres = math.sqrt(dx * dx + dy * dy)
    else:
        phi1, phi2 = math.radians(y1), math.radians(y2)
        s1 = math.sin((phi2 - phi1) / 2)
        s2 = math.sin(math.radians(x2 - x1) / 2)
        a = s1 * s1 + math.cos(phi1) * math.cos(phi2) * s2 * s2
        metres = 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, a)))
    return Millimetres(math.floor(metres * 1000 + 0.5))


@dataclass(frozen=True)
class Region:
    """A named area given as WKT; a point on its boundary is inside (004 §3.2.1).

    >>> Region("square", "POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0))").covers(2.0, 1.0)
    True
    """

    name: str
    wkt: str = field(repr=False)

    def __post_init__(self) -> None:
        _ = self.shape

    @cached_property
    def shape(self) -> Any:
        import shapely

        try:
            shape = shapely.from_wkt(self.wkt)
        except shapely.errors.GEOSException as e:
            raise SpaceError(
                f"region {self.name}: cannot read its WKT ({e})",
                hint="write for example 'POLYGON ((0 0, 1 0, 1 1, 0 0))'",
            ) from None
        if shape.geom_type not in ("Polygon", "MultiPolygon"):
            raise SpaceError(
                f"region {self.name} is a {shape.geom_type}, which has no inside",
                hint="give a POLYGON or a MULTIPOLYGON",
            )
        if shape.is_empty or not shape.is_valid:
            why = "it is empty" if shape.is_empty else shapely.is_valid_reason(shape)
            raise SpaceError(f"region {self.name} is not a valid area: {why}")
        return shape

    def covers(self, x: float, y: float) -> bool:
        """Whether the location is in the region or on its boundary."""
        import shapely

        return located(x, y) and bool(shapely.intersects_xy(self.shape, x, y))
