"""From a query to its lanes: walks the operators below it and asks the model what each of them shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from astralq.algebra.base import Kind, Operator
from astralq.algebra.relational import GroupBy, JoinKind, Rename, Select
from astralq.algebra.sneeql import RowWindows, TimeWindows
from astralq.algebra.sources import RelationSource, SensedSource, StartedAt, StreamSource
from astralq.algebra.stream_ops import LookupJoin, Spread, StreamJoin
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window, unbounded
from astralq.draw.clock import Clock
from astralq.draw.maps import Asked, grouped_by, map_of
from astralq.draw.relations import spans
from astralq.draw.scene import BarLane, Dot, DotLane, Held, Lane, Map, Panel, SpanLane
from astralq.draw.windows import Keeps, Seen, held, part_name, seen, seen_at_ticks
from astralq.draw.words import row_text, shortened
from astralq.expr.evaluate import condition
from astralq.expr.nodes import Call, Expr, Inside
from astralq.model.run import Run
from astralq.model.sneeql import numbered
from astralq.model.values import Context, Relation, Stream, StreamTuple, WindowAt
from astralq.model.windows import parts
from astralq.schema import Schema


@dataclass
class Collector:
    """Gathers the lanes of one query, from its sources up."""

    run: Run
    clock: Clock
    lanes: list[Lane] = field(default_factory=list)
    maps: list[Map] = field(default_factory=list)

    def panel(self, title: str) -> Panel:
        """The whole query: what it reads, its windows, and its answer."""
        self.below(self.run.query, self.run.ctx, Asked(), bare=True)
        windowed = {n.name for n in self.lanes if isinstance(n, DotLane) and not _is_plain(n)}
        # A stream that is also read without a window need not be shown twice either.
        self.lanes = [n for n in self.lanes if not (isinstance(n, DotLane) and _is_plain(n) and n.name in windowed)]
        answer = self.answer()
        if isinstance(answer, SpanLane):
            # A relation that is asked for as it is stored need not be shown twice.
            self.lanes = [n for n in self.lanes if not (isinstance(n, SpanLane) and n.spans == answer.spans)]
        return Panel(title, (*self.lanes, answer), tuple(self.maps))

    def below(self, op: Operator, ctx: Context, asked: Asked, *, bare: bool) -> None:
        """The lanes of an operator and of those below it; `bare` unless a window above shows the stream."""
        match op:
            case Select(Window() as window, Inside() as inside) if window.spec == unbounded():
                self.window(window, ctx, asked.where(inside), inside)
            case Select(child, found):
                for part in conjuncts(found):
                    asked = asked.where(part)
                self.below(child, ctx, asked, bare=bare)
            case GroupBy(child, keys):
                self.below(child, ctx, Asked(groups=grouped_by(keys, child.schema)), bare=bare)
            case Window():
                self.window(op, ctx, asked, None)
            case TimeWindows() | RowWindows():
                self.windows_of_ticks(op, ctx)
            case StartedAt(child):
                self.below(child, self.run.started(op, ctx), Asked(), bare=bare)
            case StreamSource() | SensedSource():
                if bare:
                    self.add(self.dots(op, ctx, {}))
            case RelationSource():
                self.add(self.rows(op, ctx, op.name, hidden=[n for n in (op.valid_from, op.valid_to) if n]))
            case LookupJoin() | StreamJoin():
                self.below(op.stream, ctx, Asked(), bare=bare)
                self.below(op.relation, ctx, Asked(), bare=bare)
                if not isinstance(_renamed(op.relation), RelationSource):
                    name = "designation" if op.how in (JoinKind.SEMI, JoinKind.ANTI) else "joined with"
                    self.add(self.rows(_renamed(op.relation), ctx, name))
            case _:
                for child in op.children:
                    self.below(child, ctx, Asked(), bare=bare)

    def add(self, lane: Lane) -> None:
        if lane not in self.lanes:
            self.lanes.append(lane)

    def window(self, op: Window, ctx: Context, asked: Asked, region: Inside | None) -> None:
        """The tuples below a window, its bars part by part, and a map if they are located.

        A stationary window is the selection of a region over all that has come (004 §3.2.1).
        """
        self.below(op.child, ctx, Asked(), bare=False)
        stream = self.run.stream(op.child, ctx)
        text = str(op.spec) if region is None else f"[RANGE BY {region.region.name} RATTR SPACE]"
        keeps = None if region is None else _keeps(region, op.readable)
        pieces = parts(stream.tuples, op.spec, op.child.schema, ctx.t0)
        found = [seen(piece, ctx, keeps) for piece in pieces]
        named = [(part_name(piece, op.spec.partition), s) for piece, s in zip(pieces, found, strict=True)]
        self.bars(op.child, ctx, text, named)
        if op.child.schema.location is not None:
            state = held(stream, found)
            self.maps.append(map_of(stream, op.spec, op.readable, ctx, state, asked, f"{stream_name(op.child)} {text}"))

    def windows_of_ticks(self, op: TimeWindows | RowWindows, ctx: Context) -> None:
        self.below(op.child, ctx, Asked(), bare=False)
        found = seen_at_ticks(op, cast("list[WindowAt]", self.run.evaluate(op, ctx)), ctx)
        self.bars(op.child, ctx, op.label.removeprefix("WINDOWS "), [(None, found)])

    def bars(self, child: Operator, ctx: Context, text: str, named: Sequence[tuple[str | None, Seen]]) -> None:
        state = held(self.run.stream(child, ctx), (s for _, s in named))
        self.add(self.dots(child, ctx, state))
        for part, s in named:
            self.add(BarLane(text, s.bars, part))

    def dots(self, op: Operator, ctx: Context, state: dict[int, Held]) -> DotLane:
        """The tuples of a stream; its timestamps are on the axis, so that they are not among the values."""
        hidden = _timestamps(op)
        stream = self.run.stream(op, ctx)
        return self.dot_lane(stream, ctx, op.schema, stream_name(op), hidden, state)

    def dot_lane(
        self,
        stream: Stream,
        ctx: Context,
        schema: Schema,
        name: str,
        hidden: Sequence[str] = (),
        state: dict[int, Held] | None = None,
        *,
        is_answer: bool = False,
    ) -> DotLane:
        dots = tuple(
            Dot(
                s.t,
                s.i,
                s.n,
                row_text(s.values, schema.attributes, self.clock, hidden),
                (state or {}).get(s.n, Held.PLAIN),
            )
            for s in stream.tuples
            if ctx.start <= s.batch <= ctx.end
        )
        left_out = {h.lower() for h in hidden}
        return DotLane(name, tuple(n for n in schema.names if n.lower() not in left_out), dots, is_answer)

    def rows(
        self, op: Operator, ctx: Context, name: str, hidden: Sequence[str] = (), *, is_answer: bool = False
    ) -> SpanLane:
        columns = tuple(n for n in op.schema.names if n not in hidden)
        relation = self.run.relation(op, ctx)
        return SpanLane(name, columns, spans(relation, ctx, op.schema.attributes, self.clock, hidden), is_answer)

    def answer(self) -> Lane:
        op, ctx = self.run.query, self.run.ctx
        if op.kind is Kind.RELATION:
            return self.rows(op, ctx, "answer", is_answer=True)
        found = self.run.result()
        if isinstance(found, list):
            stamped = ((b, r.values) for b, rows in numbered(found, ctx) for r in rows)
            found = Stream.of(stamped)
        assert not isinstance(found, Relation)
        return self.dot_lane(found, ctx, op.schema, "answer", is_answer=True)


def _is_plain(lane: DotLane) -> bool:
    return all(d.held is Held.PLAIN for d in lane.dots)


def conjuncts(found: Expr) -> Iterator[Expr]:
    """The conditions that hold together."""
    if isinstance(found, Call) and found.function == "and":
        for part in found.args:
            yield from conjuncts(part)
    else:
        yield found


def stream_name(op: Operator) -> str:
    """What a stream is called: its source's name, or the operators that it comes from."""
    match op:
        case StreamSource() | SensedSource():
            return op.name
        case Tick(child) | StartedAt(child):
            return stream_name(child)
    return shortened(" ← ".join(o.label.removeprefix("STREAM ") for o in op.walk()), 60)


def _timestamps(op: Operator) -> list[str]:
    """The attributes that stamp the sources of a stream, unless it has been stamped anew."""
    match op:
        case StreamSource():
            return [] if op.stamped_by is None else [op.stamped_by]
        case SensedSource():
            return [op.time]
        case Tick(child) | Select(child, _) | StartedAt(child) | Spread(child):
            return _timestamps(child)
    return []


def _renamed(op: Operator) -> Operator:
    """An operator without the renaming that only keeps two sides of a join apart."""
    return op.child if isinstance(op, Rename) else op


def _keeps(region: Inside, readable: Schema) -> Keeps:
    inside = condition(region, readable)

    def keeps(s: StreamTuple) -> bool:
        return inside((*s.values, *s.stamp))

    return keeps
