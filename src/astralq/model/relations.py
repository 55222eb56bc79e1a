"""The meaning of relational operators: each state is computed from the children's states (001 §4, 002 §4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from astralq.algebra.domain import AtInstant, Custom, Domain, Floor, LastBatchOf, Shift
from astralq.algebra.explode import Explode
from astralq.algebra.grouping import as_written
from astralq.algebra.ordering import Limit, OrderBy, SortKey
from astralq.algebra.relational import (
    Distinct,
    Divide,
    GroupBy,
    Join,
    JoinKind,
    Project,
    Rename,
    Select,
    SetKind,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.ticks import Tick
from astralq.errors import EvaluationError, PlanError
from astralq.expr.aggregates import aggregator
from astralq.expr.evaluate import condition, evaluator
from astralq.expr.nodes import Expr
from astralq.expr.order import BOTTOM_KEY, OrderKey, order_key, row_key, sort_key
from astralq.model.values import Context, Phi, Relation, Row, Stream, Values
from astralq.timeline import BatchId, Instant

Rows = Sequence[Row]


def pointwise(f: Callable[..., Rows], *relations: Relation) -> Relation:
    """The relation whose state is computed from the others' states at the same batch identifier."""
    return Relation(
        lambda b: f(*(r.at(b) for r in relations)),
        lambda lo, hi: set().union(*(r.changes(lo, hi) for r in relations)),
    )


# Operators over one tuple-set; streams of windows apply them to each window.


Unary = Select | Project | Rename | GroupBy | Distinct | OrderBy | Limit | Explode


def unary(op: Unary) -> Callable[[Rows], Rows]:
    """What the operator does to one tuple-set."""
    compute = _unary(op)

    def apply(rows: Rows) -> Rows:
        try:
            return compute(rows)
        except EvaluationError as e:
            if not isinstance(e.expr, Expr):
                raise
            raise EvaluationError(e.reason, hint=e.hint, expr=as_written(e.expr, op.child)) from None

    return apply


def _unary(op: Unary) -> Callable[[Rows], Rows]:
    match op:
        case Select():
            keeps = condition(op.condition, op.child.readable)
            return lambda rows: [r for r in rows if keeps(r.readable)]
        case Project():
            items = [evaluator(e, op.child.readable) for _, e in op.items]
            return lambda rows: [Row(r.phi, tuple(f(r.readable) for f in items), r.stamp) for r in rows]
        case Rename():
            return lambda rows: rows
        case GroupBy():
            return _group_by(op)
        case Distinct():
            return lambda rows: by_value(r.values for r in rows)
        case OrderBy():
            place = _place(op.keys, op)
            return lambda rows: [Row(place(r) + r.phi, r.values, r.stamp) for r in rows]
        case Limit():
            return _limit(op)
        case Explode():
            found = elements(op)
            return lambda rows: [
                Row((*r.phi, place), r.values + new, r.stamp) for r in rows for place, new in found(r.readable)
            ]


def elements(op: Explode) -> Callable[[Values], list[tuple[OrderKey, Values]]]:
    """What explode makes of a tuple: for each element its place and the attributes that are added."""
    array = evaluator(op.array, op.child.readable)
    is_map = op.array.type.name == "MAP"

    def apply(readable: Values) -> list[tuple[OrderKey, Values]]:
        held = array(readable) or ()
        assert isinstance(held, tuple)
        found: list[tuple[OrderKey, Values]] = []
        for k, e in enumerate(held):
            place = (k,) if op.has_place else ()
            found.append((order_key(k), (*place, *(e if is_map else (e,)))))  # type: ignore[misc]
        return found or [(BOTTOM_KEY, (None,) * len(op.names))] * op.outer

    return apply


def by_value(values: object) -> list[Row]:
    """The different values, ordered and identified by themselves."""
    different = {row_key(v): v for v in values}  # type: ignore[attr-defined]
    return [Row(k, different[k]) for k in sorted(different)]


def _group_by(op: GroupBy) -> Callable[[Rows], Rows]:
    keys = [evaluator(e, op.child.readable) for _, e in op.keys]
    aggregates = [aggregator(a, op.child.readable) for _, a in op.aggregates]

    def apply(rows: Rows) -> Rows:
        groups: dict[OrderKey, tuple[Values, list[Values]]] = {}
        if not keys and op.empty_row:
            groups[()] = ((), [])
        for r in rows:
            key = tuple(f(r.readable) for f in keys)
            groups.setdefault(row_key(key), (key, []))[1].append(r.readable)
        return [Row(k, (*key, *(f(members) for f in aggregates))) for k, (key, members) in sorted(groups.items())]

    return apply


def _place(keys: Sequence[SortKey], op: OrderBy | Limit) -> Callable[[Row], Phi]:
    """Where a row stands by the keys, before φ decides."""
    parts = [(evaluator(k.expr, op.child.readable), k) for k in keys]
    return lambda r: tuple(
        sort_key(f(r.readable), descending=k.descending, nulls_first=k.nulls_first) for f, k in parts
    )


def _limit(op: Limit) -> Callable[[Rows], Rows]:
    """Of each group the rows at some places; φ stays."""
    per = [evaluator(e, op.child.readable) for e in op.per]
    place = _place(op.order, op)
    first, last = op.places

    def apply(rows: Rows) -> Rows:
        groups: dict[OrderKey, list[Row]] = {}
        for r in sorted(rows, key=lambda r: (place(r), r.phi), reverse=op.last):
            groups.setdefault(row_key(tuple(f(r.readable) for f in per)), []).append(r)
        chosen = ((n, r) for members in groups.values() for n, r in enumerate(members[first - 1 : last], first))
        return [Row(r.phi, r.values if op.rank is None else (*r.values, n), r.stamp) for n, r in chosen]

    return apply


# Operators over two tuple-sets.


def product(left: Rows, right: Rows) -> Rows:
    """×, left first: φ = φ_left ++ φ_right (001 D17)."""
    return [Row(a.phi + b.phi, a.values + b.values) for a in left for b in right]


def join(op: Join) -> Callable[[Rows, Rows], Rows]:
    """⋈_θ in all its kinds."""
    matches = condition(op.condition, op.both)

    def apply(left: Rows, right: Rows) -> Rows:
        pairs = [(a, b) for a in left for b in right if matches(a.values + b.values)]
        matched_left = {a.phi for a, _ in pairs}
        matched_right = {b.phi for _, b in pairs}
        match op.how:
            case JoinKind.SEMI:
                return [a for a in left if a.phi in matched_left]
            case JoinKind.ANTI:
                return [a for a in left if a.phi not in matched_left]
            case JoinKind.SINGLE:
                partner = {a.phi: b.values for a, b in pairs}
                nothing = (None,) * len(op.right.schema)
                return [Row(a.phi, a.values + partner.get(a.phi, nothing), a.stamp) for a in left]
        rows = [Row(a.phi + b.phi, a.values + b.values) for a, b in pairs]
        if op.how in (JoinKind.LEFT, JoinKind.FULL):
            nothing = (None,) * len(op.right.schema)
            rows += [Row((*a.phi, BOTTOM_KEY), a.values + nothing) for a in left if a.phi not in matched_left]
        if op.how in (JoinKind.RIGHT, JoinKind.FULL):
            # A tag as in a union, so that unmatched right tuples come last under any nesting of joins.
            nothing = (None,) * len(op.left.schema)
            unmatched = [Row(b.phi, nothing + b.values) for b in right if b.phi not in matched_right]
            rows = _tagged(rows, unmatched)
        return rows

    return apply


def _tagged(left: Rows, right: Rows, *, stamped: bool = False) -> list[Row]:
    """Both sides, the left one first: φ = (0) ++ φ_left or (1) ++ φ_right (001 D19)."""
    return [
        Row((order_key(tag), *r.phi), r.values, r.stamp if stamped else None)
        for tag, side in enumerate((left, right))
        for r in side
    ]


def set_operation(op: SetOperation) -> Callable[[Rows, Rows], Rows]:
    """∪, ∩ and −, where φ counts (001 D18, D19)."""

    def apply(left: Rows, right: Rows) -> Rows:
        if op.in_order:
            return _mixed(left, right, stamped=op.stamped)
        if op.how is SetKind.UNION:
            return _tagged(left, right, stamped=op.stamped)
        there = {r.identity for r in right}
        return [r for r in left if (r.identity in there) == (op.how is SetKind.INTERSECT)]

    return apply


def _mixed(left: Rows, right: Rows, *, stamped: bool) -> list[Row]:
    """Both sides in the order of φ; of two tuples with one φ the left side's is first (002 §6)."""
    sides = ((k, r) for k, rows in enumerate((left, right)) for r in rows)
    found = (Row((*r.phi, order_key(k)), r.values, r.stamp if stamped else None) for k, r in sides)
    return sorted(found, key=lambda r: r.phi)


def with_phi(rows: Rows) -> list[Row]:
    """ρ_{a/φ}: each tuple with the numbers of its path as a text (001 §4.1)."""
    return [Row(r.phi, (*r.values, "/".join(str(key[1]) for key in r.phi)), r.stamp) for r in rows]


def value_set_operation(op: ValueSetOperation) -> Callable[[Rows, Rows], Rows]:
    """UNION, INTERSECT and EXCEPT by value."""

    def apply(left: Rows, right: Rows) -> Rows:
        there = Counter(row_key(r.values) for r in right)
        if op.all:
            taken, rest = take_out(left, there)
            return [Row(r.phi, r.values) for r in (taken if op.how is SetKind.INTERSECT else rest)]
        if op.how is SetKind.UNION:
            return by_value(r.values for r in (*left, *right))
        wanted = op.how is SetKind.INTERSECT
        return by_value(r.values for r in left if (row_key(r.values) in there) == wanted)

    return apply


def take_out(rows: Rows, bag: Counter[OrderKey]) -> tuple[list[Row], list[Row]]:
    """Those of the rows that are in the bag, as often as they are in it and lowest φ first; and the rest."""
    left_over = Counter(bag)
    taken, rest = [], []
    for r in rows:
        key = row_key(r.values)
        if left_over[key] > 0:
            left_over[key] -= 1
            taken.append(r)
        else:
            rest.append(r)
    return taken, rest


def divide(op: Divide) -> Callable[[Rows, Rows], Rows]:
    """÷: the values that go with every tuple of the right side."""
    kept = [op.left.schema.index(n) for n in op.schema.names]
    common = [op.left.schema.index(n) for n in op.right.schema.names]

    def apply(left: Rows, right: Rows) -> Rows:
        needed = {row_key(r.values) for r in right}
        partners: dict[Phi, tuple[Values, set[OrderKey]]] = {}
        for r in left:
            values = tuple(r.values[c] for c in kept)
            partners.setdefault(row_key(values), (values, set()))[1].add(row_key(tuple(r.values[c] for c in common)))
        return by_value(values for values, found in partners.values() if needed <= found)

    return apply


def binary(op: Join | SetOperation | ValueSetOperation | Divide) -> Callable[[Rows, Rows], Rows]:
    """What the operator does to two tuple-sets."""
    match op:
        case Join():
            return join(op)
        case SetOperation():
            return set_operation(op)
        case ValueSetOperation():
            return value_set_operation(op)
        case Divide():
            return divide(op)


# Domain manipulation.


def domain(op: Domain, child: Relation, stream: Stream | None, ctx: Context) -> Relation:
    """D_c^f (001 D21): f and its generalised inverse say where the state comes from and when it changes."""
    f, changes = _transform(op, child, stream, ctx)
    during = [(BatchId(a, 0), None if b is None else BatchId(b, 0)) for a, b in _during(op, ctx)]

    def state(b: BatchId) -> Rows:
        if not any(a <= b and (e is None or b < e) for a, e in during):
            return ()
        past = f(b)
        if past > b:
            raise PlanError(f"{op.label}: f{b} = {past} is in the future", hint="f(t, i) ≤ (t, i)")
        return child.at(past)

    def all_changes(lo: BatchId, hi: BatchId) -> set[BatchId]:
        ends = {b for interval in during for b in interval if b is not None}
        return {b for b in changes(lo, hi) | ends if lo <= b <= hi}

    return Relation(state, all_changes)


def ticked(op: Tick, child: Relation) -> Relation:
    """What holds at the end of each tick, from its beginning on."""

    def end(b: BatchId) -> BatchId:
        return BatchId(Instant(b.t - b.t % op.period + op.period - 1)).end_of_instant()

    def changes(lo: BatchId, hi: BatchId) -> set[BatchId]:
        found = child.changes(BatchId(Instant(lo.t - lo.t % op.period)), end(hi))
        begun = (BatchId(Instant(b.t - b.t % op.period), 0) for b in found)
        return {b for b in begun if lo <= b <= hi}

    return Relation(lambda b: child.at(end(b)), changes)


def _during(op: Domain, ctx: Context) -> Sequence[tuple[Instant, Instant | None]]:
    """The condition c as intervals [from, to)."""
    if op.during is not None:
        return op.during
    match op.transform_:
        case AtInstant(at):
            return ((ctx.start_instant if at is None else at, None),)
        case Floor() | LastBatchOf():
            return ((ctx.t0, None),)
    return ((Instant(-(2**62)), None),)


def _transform(
    op: Domain, child: Relation, stream: Stream | None, ctx: Context
) -> tuple[Callable[[BatchId], BatchId], Callable[[BatchId, BatchId], set[BatchId]]]:
    match op.transform_:
        case AtInstant(at):
            fixed = BatchId(ctx.start_instant if at is None else at, 0)
            return lambda _: fixed, lambda _lo, _hi: {fixed}
        case Shift(by):
            return lambda b: _moved(b, -by), lambda lo, hi: {
                _moved(b, by) for b in child.changes(_moved(lo, -by), _moved(hi, -by))
            }
        case Floor(every):
            scans = Periodic(Measure.TIME, 0, every)

            def last_scan(b: BatchId) -> BatchId:
                e = scans.last(ctx.t0, b.t)
                return BatchId(ctx.t0 if e is None else e, 0)

            return last_scan, lambda lo, hi: {BatchId(e, 0) for e in scans.between(ctx.t0, lo.t, hi.t)}
        case LastBatchOf():
            assert stream is not None
            return lambda b: stream.tau(stream.tau_inverse(b), ctx.t0), lambda _lo, _hi: set(stream.batches)
        case Custom():
            custom = op.transform_

            def changes(lo: BatchId, hi: BatchId) -> set[BatchId]:
                there = (custom.inverse(b) for b in child.changes(custom.f(lo), custom.f(hi)))
                return {b for b in there if b is not None}

            return custom.f, changes


def _moved(b: BatchId, by: int) -> BatchId:
    return BatchId(Instant(b.t + by), b.i)
