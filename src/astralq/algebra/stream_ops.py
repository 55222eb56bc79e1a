"""Stream operators: spread, and the products and joins that are defined by windows and streamers (001 §5.3, §5.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce

from astralq.algebra.base import RELATION_HINT, STAMP, STREAM_HINT, Kind, Operator, expect
from astralq.algebra.digest import LATER
from astralq.algebra.domain import Domain, Shift, at_last_batch
from astralq.algebra.grouping import unique
from astralq.algebra.relational import (
    Join,
    JoinKind,
    Named,
    Product,
    Project,
    Rename,
    Select,
    SetKind,
    SetOperation,
    check_condition,
)
from astralq.algebra.sources import SensedSource, StartedAt, StreamSource
from astralq.algebra.streamers import IStream
from astralq.algebra.windows import Window, WindowSpec, last_batch, now, range_, unbounded
from astralq.errors import PlanError
from astralq.expr.functions import call
from astralq.expr.nodes import TRUE, Cast, Column, Expr, Literal
from astralq.schema import BIGINT, INTERVAL, NULL, Schema
from astralq.timeline import Duration, format_duration


@dataclass(frozen=True, repr=False)
class Spread(Operator):
    """▷ splits each batch by the values of attributes; ◁ (`all`) first puts each instant's batches together
    (001 D35). Without attributes every tuple is a batch. i becomes 0, 1, 2, … within an instant."""

    child: Operator
    attributes: tuple[str, ...] = ()
    all: bool = False

    @property
    def kind(self) -> Kind:
        return Kind.STREAM

    @cached_property
    def schema(self) -> Schema:
        return self.child.schema

    def __post_init__(self) -> None:
        expect(self.child, Kind.STREAM, "spread", STREAM_HINT)
        names = tuple(dict.fromkeys(self.child.schema[name].name for name in self.attributes))
        object.__setattr__(self, "attributes", names)
        super().__post_init__()

    @property
    def label(self) -> str:
        by = f" BY {', '.join(self.attributes)}" if self.attributes else ""
        return f"SPREAD{' ALL' if self.all else ''}{by}"


@dataclass(frozen=True, repr=False)
class Composite(Operator):
    """A stream operator that is defined by others."""

    @property
    def kind(self) -> Kind:
        return Kind.STREAM

    @cached_property
    def definition(self) -> Operator:
        """What it stands for, in core operators."""
        raise NotImplementedError

    @cached_property
    def schema(self) -> Schema:
        return self.definition.schema


@dataclass(frozen=True, repr=False)
class StreamProduct(Composite):
    """S × R = I_S(S[B] × R) (001 D31)."""

    stream: Operator
    relation: Operator

    @cached_property
    def definition(self) -> Operator:
        return IStream(Product(_last_batch(self.stream), _relation(self.relation)))

    @property
    def label(self) -> str:
        return "STREAM PRODUCT"


@dataclass(frozen=True, repr=False)
class StreamJoin(Composite):
    """S ⋈ R = I_S(S[B] ⋈ R): sensitive to both sides (001 D32)."""

    stream: Operator
    relation: Operator
    condition: Expr = TRUE
    how: JoinKind = JoinKind.INNER

    @cached_property
    def definition(self) -> Operator:
        _stream_side(self.how)
        return IStream(Join(_last_batch(self.stream), _relation(self.relation), self.condition, self.how))

    @property
    def label(self) -> str:
        return f"STREAM {self.how.value} ON {self.condition}"


@dataclass(frozen=True, repr=False)
class LookupJoin(Composite):
    """S ⋉ R = I_S(S[B] ⋈ D^{τ∘τ⁻¹}(R)): decided when S's tuples arrive, whatever R does later (001 D33)."""

    stream: Operator
    relation: Operator
    condition: Expr = TRUE
    how: JoinKind = JoinKind.INNER

    @cached_property
    def definition(self) -> Operator:
        _stream_side(self.how)
        hint = "leave out its window, or use a join that is no lookup join"
        expect(self.stream, Kind.STREAM, "the left side of a lookup join", hint)
        past = at_last_batch(_relation(self.relation), self.stream)
        return IStream(Join(_last_batch(self.stream), past, self.condition, self.how))

    @property
    def label(self) -> str:
        return f"LOOKUP {self.how.value} ON {self.condition}"


@dataclass(frozen=True, repr=False)
class BandJoin(Composite):
    """S1 ⋈^d S2: pairs whose timestamps, or positions, differ by at most d; without d, all (001 D34).

    d = 0 means the [∞] form: pairs with equal timestamps. An outer band join also gives the tuples without a match, and
    an anti join these alone: each once, a chronon after its match could have come last, t + d + ε.
    """

    left: Operator
    right: Operator
    condition: Expr = TRUE
    within: Duration | None = None
    within_rows: int | None = None
    how: JoinKind = field(default=JoinKind.INNER, metadata=LATER)

    @cached_property
    def definition(self) -> Operator:
        return self.over(unbounded())

    def over(self, window: WindowSpec) -> Operator:
        """Its definition with a window that holds at least the tuples of the last d in the place of [∞]."""
        for side in (self.left, self.right):
            expect(side, Kind.STREAM, "a band join", STREAM_HINT)
        both = self.left.schema.concat(self.right.schema)
        check_condition(self.condition, both, "the band join")
        place, limit = self._band
        taken = {n.lower() for n in both.names}
        names = [_free(f"{side}{place}", taken) for side in ("left", "right")]
        sides = [_with(side, place, name) for side, name in zip((self.left, self.right), names, strict=True)]
        left, right = (Window(side, window) for side in sides)
        condition = _band_condition(self.condition, names, left, limit)
        joined = Join(left, right, condition)
        pairs: Operator = Project(joined, tuple((a.name, Column(a.type, a.name)) for a in both))
        if self.how is JoinKind.INNER:
            return IStream(pairs)
        assert self.within is not None
        alone = [
            self._alone(kept, other, condition, place)
            for place, (kept, other) in enumerate((sides, sides[::-1]))
            if self.how in (JoinKind.FULL, (JoinKind.LEFT, JoinKind.RIGHT)[place])
        ]
        if self.how is JoinKind.ANTI:
            return IStream(self._alone(sides[0], sides[1], condition, 0))
        return IStream(reduce(lambda one, other: SetOperation(one, other, SetKind.UNION), [pairs, *alone]))

    def _alone(self, kept: Operator, other: Operator, condition: Expr, place: int) -> Operator:
        """The tuples of one side that have no match in the other, when that is known: d + ε after they came."""
        assert self.within is not None
        late = Domain(Window(kept, now()), Shift(Duration(self.within + 1)))
        # All that is near a tuple of d + ε ago.
        near = Window(other, range_(f"{2 * self.within + 1} us"))
        unmatched = Join(late, near, condition, JoinKind.ANTI)
        sides: list[list[Named]] = [
            [(a.name, Column(a.type, a.name)) for a in s.schema] for s in (self.left, self.right)
        ]
        if self.how is JoinKind.ANTI:
            return Project(unmatched, tuple(sides[0]))
        sides[1 - place] = [(n, Cast(c.type, Literal(NULL, None), implicit=True)) for n, c in sides[1 - place]]
        return Project(unmatched, (*sides[0], *sides[1]))

    @property
    def _band(self) -> tuple[str, Literal | None]:
        """The pseudo-column that is compared, and the largest difference."""
        if self.within is not None and self.within_rows is not None:
            raise PlanError("a band join is by time or by position, not both", hint="give one of them")
        for d in (self.within, self.within_rows):
            if d is not None and (not isinstance(d, int) or isinstance(d, bool)):
                raise PlanError(f"the band {d!r} is not a whole number", hint="give an integer of rows, or a duration")
            if d is not None and d < 0:
                raise PlanError("the band is negative", hint="two tuples differ by at least 0")
        if self.how in (JoinKind.SEMI, JoinKind.SINGLE):
            raise PlanError(f"a {self.how.value} has no band", hint="use an inner band join, and project it")
        if self.how is not JoinKind.INNER and self.within is None:
            raise PlanError(
                f"a {self.how.value} of streams without a band of time: it would never be known that no match comes",
                hint="write WITHIN and a duration, for example WITHIN 10 MINUTES",
            )
        if self.within_rows is not None:
            return "_n", Literal(BIGINT, self.within_rows)
        return "_t", None if self.within is None else Literal(INTERVAL, int(self.within))

    @property
    def label(self) -> str:
        what = f"BAND {self.how.value}"
        if self.within_rows is not None:
            return f"{what} WITHIN {self.within_rows} ROWS ON {self.condition}"
        d = "∞" if self.within is None else format_duration(self.within)
        return f"{what} WITHIN {d} ON {self.condition}"


def timestamp_attribute(stream: Operator) -> str | None:
    """The attribute that holds each tuple's own timestamp; None where a stream has none, as behind a streamer."""
    match stream:
        case StreamSource():
            return stream.stamped_by and stream.declared[stream.stamped_by].name
        case SensedSource():
            return stream.declared[stream.time].name
        case Select() | Spread() | StartedAt() | LookupJoin():
            return timestamp_attribute(stream.children[0])
        case Rename():
            below = timestamp_attribute(stream.child)
            return below and dict(stream.names).get(below, below)
        case Project():
            below = timestamp_attribute(stream.child)
            return next((n for n, e in stream.items if isinstance(e, Column) and e.name in (below, "_t")), None)
    return None


def timestamps_apart(left: Operator, right: Operator) -> Operator:
    """The right side of a natural band join: where both timestamps have one name, its own gets another, for they are
    not compared (001 D34 renames t before it joins)."""
    stamps = [timestamp_attribute(s) for s in (left, right)]
    if None in stamps or str(stamps[0]).lower() != str(stamps[1]).lower():
        return right
    taken = {n.lower() for n in (*left.schema.names, *right.schema.names)}
    return Rename(right, ((str(stamps[1]), unique(str(stamps[1]), taken)),))


def _last_batch(stream: Operator) -> Window:
    expect(stream, Kind.STREAM, "a stream join", STREAM_HINT)
    return Window(stream, last_batch())


def _relation(relation: Operator) -> Operator:
    hint = f"{RELATION_HINT}; two streams are joined within a band"
    expect(relation, Kind.RELATION, "the right side of a stream join", hint)
    return relation


def _stream_side(how: JoinKind) -> None:
    if how in (JoinKind.RIGHT, JoinKind.FULL):
        raise PlanError(
            f"a {how.value} of a stream with a relation would emit the relation's unmatched tuples",
            hint="take a window of the stream, and a streamer on top of the join",
        )


def _free(name: str, taken: set[str]) -> str:
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _with(stream: Operator, place: str, name: str) -> Project:
    """The stream with a pseudo-column copied into an attribute: ρ_{t'/t} of 001 D34."""
    type_ = next(a.type for a in STAMP if a.name == place)
    items = [(a.name, Column(a.type, a.name)) for a in stream.schema]
    return Project(stream, (*items, (name, Column(type_, place))))


def _band_condition(condition: Expr, names: list[str], left: Operator, limit: Literal | None) -> Expr:
    """|t' − t| ≤ d and the user's condition, which is computed only for pairs that are near."""
    if limit is None:
        return condition
    type_ = left.schema[names[0]].type
    a, b = (Column(type_, n) for n in names)
    near = call("and", call("<=", call("-", a, b), limit), call("<=", call("-", b, a), limit))
    return near if condition == TRUE else call("and", near, condition)
