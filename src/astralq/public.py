"""The public names of astralq, in one place; `import astralq` gives them when the first one is asked for."""

from astralq.algebra import *  # noqa: F403
from astralq.algebra import __all__ as _algebra
from astralq.errors import AstralError
from astralq.schema import Schema
from astralq.space import Region, distance
from astralq.timeline import BatchId, Duration, Instant, Position, duration, instant

__all__ = [
    *_algebra,
    "AstralError",
    "BatchId",
    "Duration",
    "Instant",
    "Position",
    "Region",
    "Schema",
    "distance",
    "duration",
    "instant",
]
