"""The reference model: what each operator means, in pure Python; slow, short, and the judge of every engine."""

from astralq.model.run import Change, prepare, run, state
from astralq.model.sources import Data
from astralq.model.values import Context, Relation, Row, Stream, StreamTuple, WindowAt

__all__ = [
    "Change",
    "Context",
    "Data",
    "Relation",
    "Row",
    "Stream",
    "StreamTuple",
    "WindowAt",
    "prepare",
    "run",
    "state",
]
