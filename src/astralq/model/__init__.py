"""The reference model: what each operator means, in pure Python; slow, short, and the judge of every engine."""

from astralq.model.history import Change, History
from astralq.model.run import prepare, run, set_aside, state
from astralq.model.sources import Data
from astralq.model.values import Context, Relation, Row, Stream, StreamTuple, WindowAt

__all__ = [
    "Change",
    "Context",
    "Data",
    "History",
    "Relation",
    "Row",
    "Stream",
    "StreamTuple",
    "WindowAt",
    "prepare",
    "run",
    "set_aside",
    "state",
]
