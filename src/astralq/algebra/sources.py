"""Where tuples come from: pushed streams, sensed streams, and stored relations (003 §3's three extents)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from astralq.algebra import answers
from astralq.algebra.base import PSEUDO, STAMP, Kind, Operator, Unary
from astralq.algebra.computed import FILE, MOMENT, OF_FILE, Computed
from astralq.algebra.digest import LATER
from astralq.errors import PlanError
from astralq.schema import BOOLEAN, DATE, STRING, TIMESTAMP, Attribute, Schema, Type, Value, fits
from astralq.timeline import Duration, Instant, format_duration, format_instant


def _check_names(schema: Schema, what: str) -> None:
    if not schema.attributes:
        raise PlanError(f"{what} has no attributes", hint="declare at least one")
    reserved = [a.name for a in schema if a.name.lower() in PSEUDO]
    if reserved:
        raise PlanError(
            f"{what} declares {reserved[0]!r}, which is the name of a pseudo-column of every stream",
            hint="give the attribute another name",
        )


def _without_computed(schema: Schema, computed: Computed) -> Schema:
    made = {name.lower() for name, _ in computed}
    return Schema(tuple(a for a in schema if a.name.lower() not in made))


def _check_computed(what: str, declared: Schema, stored: Schema, computed: Computed) -> None:
    """Computed attributes have their declared types, and read what is stored."""
    if computed and not stored.attributes:
        raise PlanError(f"{what} has computed attributes only", hint="declare what its rows hold")
    for name, expr in computed:
        assert declared[name].type == expr.type, name
        if name.lower() == FILE.name and expr != OF_FILE[1]:
            raise PlanError(
                f"{what} declares {name!r}, which is the name of a pseudo-column",
                hint="give the attribute another name",
            )
        for read in expr.columns:
            assert read in stored or read == FILE.name, read


@dataclass(frozen=True)
class Origin:
    """Where a source's rows are: a format (csv, json, parquet, …), a path, topic or callable, and its options."""

    format: str
    path: str
    options: tuple[tuple[str, str], ...] = ()
    # Of a sink: whether positions and heartbeats are written, too.
    progress: bool = field(default=False, repr=False, metadata=LATER)

    def option(self, name: str, default: str) -> str:
        """An option by its name in any case."""
        return next((v for k, v in self.options if k.lower() == name.lower()), default)


FOLLOWING = (
    *("idle", "timeout", "maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst", "fileNameOnly", "maxFileAge"),
    *("cleanSource", "sourceArchiveDir"),
)
"""Options that say how a source is followed; a run over what is stored passes over them."""

NOTHING = Duration(0)

EMITTED = answers.STAMP
POSITION = STAMP[2]
"""What WITH PROGRESS writes before and behind the attributes of a tuple."""

UNITS = {"SECONDS": 1_000_000, "MILLISECONDS": 1_000, "MICROSECONDS": 1}
"""Microseconds in the units that a numeric timestamp can be in."""


def _how_to_time(name: str, found: Type, *, stream: bool) -> str | None:
    """How to say what time an attribute is: a stream takes an expression, a relation a computed attribute."""
    if name == MOMENT or found not in (STRING, DATE):
        return None
    written = f"to_timestamp({name}, 'yyyy-MM-dd HH:mm')" if found == STRING else f"CAST({name} AS TIMESTAMP)"
    how = f"TIMESTAMP BY {written}" if stream else f"compute an attribute, at TIMESTAMP AS ({written})"
    if found == DATE:
        return how
    return f"say how it is written: {how}, or declare it TIMESTAMP with OPTIONS (timestampFormat = 'yyyy-MM-dd HH:mm')"


def _check_moment(what: str, schema: Schema, name: str, unit: str | None) -> None:
    """A timestamp is a TIMESTAMP, or a number with a unit."""
    found = schema[name].type
    if name == MOMENT and not (found == TIMESTAMP or found.is_numeric):
        raise PlanError(f"{what}: TIMESTAMP BY an expression that is {found}", hint="write to_timestamp(…) around it")
    if unit is None and found.is_numeric:
        raise PlanError(f"{what}: {name!r} is {found}, a number of what?", hint="add UNIT SECONDS, or another unit")
    if unit is None and found != TIMESTAMP:
        raise PlanError(
            f"{what}: {name!r} is {found}, not TIMESTAMP",
            hint=_how_to_time(name, found, stream=what.startswith("stream")),
        )
    if unit is not None and not found.is_numeric:
        raise PlanError(f"{what}: {name!r} is {found}, not a number of {unit.lower()}", hint="leave out UNIT")
    if unit is not None and unit not in UNITS:
        raise PlanError(f"{what}: unknown unit {unit!r}", hint=f"the units are {', '.join(UNITS)}")


@dataclass(frozen=True, repr=False)
class StreamSource(Operator):
    """A pushed stream (003's receive; 001 D13 to D15, 002 D7 to D9, 000 D4, 004 Definition 2.1).

    `timestamp` names the attribute that stamps a tuple; without it a tuple is stamped on arrival.
    Simultaneous tuples are ordered by `position_by`, those of `descending` downwards, else by all values. One timestamp
    is one batch with i = 0, unless `batch_by` names the attribute that holds i, or `batch_each_row` numbers every
    tuple. A schema with a location makes the stream spatio-temporal (004 Definition 3.1).

    With `progress` its rows are what INSERT INTO … WITH PROGRESS wrote: they bring t, i and positions, and heartbeats,
    which say how far time has come where there is no tuple (001 §8). `heartbeat` names a BOOLEAN that marks them in
    rows of others; it belongs to the transport, not to the tuples, and stands at `heartbeat_at` among the attributes.

    `computed` has those attributes that no file holds, as expressions over the others. TIMESTAMP BY an expression is
    one of them, MOMENT, which belongs to the rows and not to the tuples.
    """

    name: str
    declared: Schema
    timestamp: str | None = None
    position_by: tuple[str, ...] = ()
    batch_by: str | None = None
    batch_each_row: bool = False
    unit: str | None = None
    lateness: Duration = NOTHING
    origin: Origin | None = None
    progress: bool = field(default=False, metadata=LATER)
    heartbeat: str | None = field(default=None, metadata=LATER)
    heartbeat_at: int = field(default=0, metadata=LATER)
    computed: Computed = field(default=(), metadata=LATER)
    descending: tuple[str, ...] = field(default=(), metadata=LATER)

    @property
    def kind(self) -> Kind:
        return Kind.STREAM

    @cached_property
    def schema(self) -> Schema:
        if self.timestamp != MOMENT:
            return self.declared
        return Schema(self.declared.attributes[:-1], self.declared.location)

    @cached_property
    def stored(self) -> Schema:
        """What its files hold."""
        return _without_computed(self.physical, self.computed)

    @property
    def stamped_by(self) -> str | None:
        """The attribute of its tuples that is their timestamp."""
        return None if self.timestamp == MOMENT else self.timestamp

    @property
    def lacks_timestamp(self) -> str:
        """What is said of a row without a timestamp."""
        if self.timestamp != MOMENT:
            return f"has no {self.timestamp!r}, so no timestamp"
        return f"has no timestamp: {dict(self.computed)[MOMENT]} is NULL"

    @cached_property
    def physical(self) -> Schema:
        """What its rows hold: the attributes, computed ones too, and what belongs to the transport."""
        attributes = self.declared.attributes
        if self.progress:
            return Schema((*EMITTED, *attributes, POSITION))
        if self.heartbeat is not None:
            place = self.heartbeat_at
            return Schema((*attributes[:place], Attribute(self.heartbeat, BOOLEAN), *attributes[place:]))
        return self.declared

    @property
    def has_heartbeats(self) -> bool:
        """Whether its rows say how far time has come."""
        return self.progress or self.heartbeat is not None

    def check(self) -> None:
        _check_names(self.declared, f"stream {self.name}")
        if self.progress and (self.timestamp or self.position_by or self.batch_by or self.batch_each_row):
            raise PlanError(
                f"stream {self.name}: WITH PROGRESS reads timestamps, batches and positions back",
                hint="leave out TIMESTAMP, POSITION BY and BATCH",
            )
        if self.heartbeat is not None and (self.progress or self.timestamp is None):
            raise PlanError(
                f"stream {self.name}: HEARTBEAT BY needs rows with a timestamp of their own", hint="add TIMESTAMP BY"
            )
        taken = [a.name for a in self.declared if self.progress and a.name.lower() in ("t", "i")]
        if taken:
            raise PlanError(
                f"stream {self.name}: {taken[0]!r} is what WITH PROGRESS calls the stamp of a tuple",
                hint="give the attribute another name, also where it is written",
            )
        if self.timestamp is not None:
            _check_moment(f"stream {self.name}", self.declared, self.timestamp, self.unit)
        if self.progress and self.computed:
            raise PlanError(
                f"stream {self.name}: WITH PROGRESS reads tuples back as they were written",
                hint="compute attributes in the query, or where they are written",
            )
        _check_computed(f"stream {self.name}", self.declared, self.stored, self.computed)
        if self.lateness < 0:
            raise PlanError(f"stream {self.name}: the lateness is negative", hint="give a duration of at least 0")
        for name in self.position_by:
            self.declared.index(name)
        if self.batch_by is not None and self.batch_each_row:
            raise PlanError(f"stream {self.name}: batches are given twice", hint="BATCH BY or BATCH EACH ROW, not both")
        if self.batch_by is not None and not self.declared[self.batch_by].type.is_integral:
            raise PlanError(f"stream {self.name}: BATCH BY {self.batch_by!r} is not an INT or BIGINT")

    @property
    def label(self) -> str:
        return f"STREAM {self.name}"


@dataclass(frozen=True)
class Designation:
    """The relation that says at each tick which sites are asked (001 §2.2, D5); it is no part of the query that reads
    their stream."""

    relation: Operator

    @property
    def site(self) -> Attribute:
        return self.relation.schema.attributes[0]


SOME_SITES = 100
"""How many sites a designated stream is taken to have."""


@dataclass(frozen=True, repr=False)
class SensedSource(Operator):
    """A pulled stream: each site is measured at t0 + k·every, in the order of the sites (003's acquire).

    The sites are a list, or those that a relation holds at the tick, in its order.
    """

    name: str
    declared: Schema
    every: Duration
    sites: tuple[Value, ...]
    site: str
    time: str
    origin: Origin | None = None
    designation: Designation | None = field(default=None, metadata=LATER)

    @property
    def size(self) -> int:
        """How many sites it has, or about how many."""
        return len(self.sites) if self.designation is None else SOME_SITES

    @property
    def kind(self) -> Kind:
        return Kind.STREAM

    @cached_property
    def schema(self) -> Schema:
        return self.declared

    def check(self) -> None:
        _check_names(self.declared, f"stream {self.name}")
        self.declared.index(self.site)
        if self.declared[self.time].type != TIMESTAMP and not self.declared[self.time].type.is_integral:
            raise PlanError(f"stream {self.name}: the time {self.time!r} is not a TIMESTAMP, nor a number of seconds")
        if self.every <= 0:
            raise PlanError(
                f"stream {self.name} is sensed every {format_duration(self.every)}",
                hint="the acquisition interval is longer than nothing",
            )
        if self.designation is not None:
            self._check_designation(self.designation)
        elif not self.sites or len(set(self.sites)) != len(self.sites):
            raise PlanError(f"stream {self.name}: the sites {self.sites} are not a list of different sites")
        site = self.declared[self.site]
        wrong = [s for s in self.sites if s is None or not fits(s, site.type)]
        if wrong:
            raise PlanError(f"stream {self.name}: the site {wrong[0]!r} does not fit {site}")
        if self.site.lower() == self.time.lower():
            raise PlanError(f"stream {self.name}: {self.site!r} is both the site and the time")

    def _check_designation(self, designation: Designation) -> None:
        found = designation.relation
        what = f"stream {self.name}: the sites"
        if found.kind is not Kind.RELATION:
            raise PlanError(
                f"{what} are a {found.kind.value}", hint="AT SITES takes a relation: give its stream a window"
            )
        if len(found.schema) != 1:
            raise PlanError(f"{what} have {len(found.schema)} attributes", hint="AT SITES (SELECT site FROM …)")
        wanted = self.declared[self.site]
        if designation.site.type != wanted.type:
            raise PlanError(
                f"{what} are {designation.site.type}, and {wanted.name!r} is {wanted.type}", hint="CAST them"
            )

    @property
    def measured(self) -> tuple[str, ...]:
        """The attributes that a site's sensor gives; its name and the time are filled in."""
        given = (self.site.lower(), self.time.lower())
        return tuple(n for n in self.declared.names if n.lower() not in given)

    @property
    def label(self) -> str:
        sites = ", ".join(map(str, self.sites))
        if self.designation is not None:
            sites = " ← ".join(op.label for op in self.designation.relation.walk())
        return f"SENSED {self.name} EVERY {format_duration(self.every)} AT SITES ({sites})"


Sensor = Callable[[Any, Instant], Sequence[Any]]
"""What a sensed stream calls: (site, t) ↦ the measured attributes."""


class Validity(Enum):
    """How a relation's rows say when they hold."""

    CONSTANT = "constant"
    VERSIONED = "versioned"
    CHANGES = "changes"


@dataclass(frozen=True, repr=False)
class RelationSource(Operator):
    """A stored relation (001 D12 and example 1; 002 D6, 000 D5, 004 Definition 2.2).

    Constant; or versioned, a row holding in [valid_from, valid_to), without valid_to for ever; or a log of
    changes '+' and '-' at a time, where with a key a '+' replaces the row of that key, and without one a '-'
    takes out the oldest equal row. All changes of one timestamp act together at (t, 0), deletions first. The
    operation and time of a change belong to the log, not to the relation's tuples. Rows are ordered by
    `position_by`, those of `descending` downwards, else by all values.
    """

    name: str
    declared: Schema
    valid_from: str | None = None
    valid_to: str | None = None
    change: str | None = None
    at: str | None = None
    key: tuple[str, ...] = ()
    position_by: tuple[str, ...] = ()
    unit: str | None = None
    origin: Origin | None = None
    computed: Computed = field(default=(), metadata=LATER)
    descending: tuple[str, ...] = field(default=(), metadata=LATER)

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    @property
    def physical(self) -> Schema:
        """What its rows hold, computed attributes too."""
        return self.declared

    @cached_property
    def stored(self) -> Schema:
        """What its files hold."""
        return _without_computed(self.declared, self.computed)

    @property
    def validity(self) -> Validity:
        if self.change is not None:
            return Validity.CHANGES
        return Validity.CONSTANT if self.valid_from is None else Validity.VERSIONED

    @cached_property
    def schema(self) -> Schema:
        log = {n.lower() for n in (self.change, self.at) if n is not None}
        kept = tuple(a for a in self.declared if a.name.lower() not in log)
        return Schema(kept, self.declared.location)

    def check(self) -> None:
        _check_names(self.schema, f"relation {self.name}")
        _check_computed(f"relation {self.name}", self.declared, self.stored, self.computed)
        for name in self.position_by:
            self.declared.index(name)
        if self.descending and self.change is not None:
            raise PlanError(
                f"relation {self.name}: the changes of an instant act in ascending order of POSITION BY",
                hint="leave out DESC, or give the log a number that counts up",
            )
        for name in self.key:
            self.schema.index(name)
        for moment in (self.valid_from, self.valid_to, self.at):
            if moment is not None:
                _check_moment(f"relation {self.name}", self.declared, moment, self.unit)
        if (self.change is None) != (self.at is None):
            raise PlanError(
                f"relation {self.name}: a change log needs both the operation and its time",
                hint="write CHANGES BY op AT ts",
            )
        if self.change is not None and self.declared[self.change].type not in (STRING, BOOLEAN):
            raise PlanError(f"relation {self.name}: the operation {self.change!r} is not a STRING")
        if self.change is not None and self.valid_from is not None:
            raise PlanError(f"relation {self.name} is both versioned and a change log", hint="choose one")
        if self.valid_to is not None and self.valid_from is None:
            raise PlanError(f"relation {self.name} has an end of validity without a beginning")
        if self.key and self.change is None:
            raise PlanError(f"relation {self.name}: KEY belongs to a change log", hint="add CHANGES BY op AT ts")

    @property
    def label(self) -> str:
        return f"RELATION {self.name}"


@dataclass(frozen=True, repr=False)
class StartedAt(Unary):
    """A query (Q, t0) used inside another: it keeps its own start (000 D3, 001 §6.3).

    Without t0 it starts at the epoch and observes from its own first batch, as a query without START AT does. A
    stream's tuples before the outer query's t0 are ignored there, and its positions begin there anew.
    """

    t0: Instant | None = None

    @property
    def label(self) -> str:
        return "STARTED BY ITSELF" if self.t0 is None else f"STARTED AT {format_instant(self.t0)}"


Source = StreamSource | SensedSource | RelationSource
"""003's three extents."""


def sources_of(query: Operator) -> list[Source]:
    """The sources of a query, each once.

    >>> from astralq import rows, stream
    >>> s = stream("S", "v INT")
    >>> sources_of(s[rows(1)].union(s[rows(2)]).operator)
    [STREAM S]
    """
    return list({op.name: op for op in query.walk() if isinstance(op, Source)}.values())
