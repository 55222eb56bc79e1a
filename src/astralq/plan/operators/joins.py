"""Joins intersect intervals: pairs are matches by their keys and by buckets of time, never by comparing all with all.

Few rows are in one partition: there keys alone will do, and without keys all pairs are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_

from astralq.algebra.relational import Join, JoinKind
from astralq.expr.nodes import TRUE
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column as SqlColumn
from astralq.plan.columns import Window, col, columns, lit, long
from astralq.plan.encoding.batches import Id, greatest, least, lt
from astralq.plan.encoding.tables import (
    Choice,
    Phi,
    RelationTable,
    attributes,
    interval,
    mapped,
    path,
    relabelled,
    same_batches,
)
from astralq.plan.operators.buckets import KEYLESS, Even, Levels
from astralq.plan.operators.expressions import Names, compiled
from astralq.plan.operators.keys import KeyPair, column_keys, computed_keys, key_texts
from astralq.plan.operators.relational import tagged, united
from astralq.plan.run import Run
from astralq.plan.state.epochs import Halves
from astralq.plan.table import Table, is_soon_read
from astralq.schema import Schema


@dataclass(frozen=True)
class Pairs:
    """The pairs of two relations that hold together: columns l_… and r_…, and the intersection as ft, tt, …"""

    rows: Table
    left: RelationTable
    right: RelationTable

    @property
    def one_batch(self) -> bool:
        return self.left.one_batch

    @property
    def interval_columns(self) -> list[str]:
        return self.left.interval_columns


def pairs(
    left: RelationTable,
    right: RelationTable,
    run: Run,
    keys: Sequence[KeyPair] = (),
    condition: SqlColumn | None = None,
    few: str = "",
) -> Pairs:
    """All pairs with equal keys whose intervals meet, and for which a condition on l_ and r_ columns is true. `few`:
    the prefix of a side that has new rows of an epoch only."""
    left, right = same_batches([left, right])
    if run.one_partition and (keys or run.compares_all_pairs):
        sides = [_prefixed(r, p) for r, p in ((left, "l_"), (right, "r_"))]
        return _meeting(left, right, sides, keys, condition, _overlap(left.one_batch), keyed=bool(keys))
    if few and keys and _is_short(left, right, run):
        sides = [_prefixed(r, p) for r, p in ((left, "l_"), (right, "r_"))]
        return _meeting(left, right, sides, keys, condition, _overlap(left.one_batch), keyed=True, few=few)
    first, last = run.expected_interval
    begins = F.greatest("l_ft", "r_ft")
    even = Even.of(left, right, last - first + 1, keyed=bool(keys))
    if even is not None:
        sides = [even.with_buckets(r, p) for r, p in ((left, "l_"), (right, "r_"))]
        together = _overlap(left.one_batch) & (col("l_bucket") == even.bucket(begins))
        return _meeting(left, right, sides, [("bucket", "bucket", False), *keys], condition, together, keyed=True)
    levels = Levels(first, last - first + 1, 1 if keys else KEYLESS)
    both = (levels.possible(left), levels.possible(right))
    needed = sorted({min(a, b) for a in both[0] for b in both[1]})
    sides = [levels.with_buckets(r, needed, p) for r, p in ((left, "l_"), (right, "r_"))]
    # A pair matches in the bucket of its beginning only, on the coarser of its two levels.
    home = long(None)
    for level in needed:
        home = F.when(F.shiftright("l_place", 1) == level, levels.bucket(begins, level)).otherwise(home)
    together = _overlap(left.one_batch) & (col("l_bucket") == home)
    buckets = [("place", "place", False), ("bucket", "bucket", False)]
    return _meeting(left, right, sides, [*buckets, *keys], condition, together, keyed=True)


SENT = 100_000
"""Up to how many new rows of an epoch are sent to all that holds, which then need not be sent anywhere."""


def _is_short(left: RelationTable, right: RelationTable, run: Run) -> bool:
    """Whether an epoch has so few new rows, and is so short, that buckets of time would tell few of them apart."""
    if run.since is None or run.new_rows is None or run.new_rows > SENT:
        return False
    even = Even.of(left, right, run.end - run.since, keyed=True)
    return even is not None and run.end - run.since <= even.width


def _prefixed(relation: RelationTable, prefix: str) -> Table:
    return relation.rows.select(*(col(c).alias(f"{prefix}{c}") for c in relation.rows.columns))


def _ends(prefix: str, *, one_batch: bool) -> tuple[Id, Id]:
    """A side's interval [from, to)."""
    t, i = (f"{prefix}ft", f"{prefix}tt"), (f"{prefix}fi", f"{prefix}ti")
    return Id(col(t[0]), None if one_batch else col(i[0])), Id(col(t[1]), None if one_batch else col(i[1]))


def _overlap(one_batch: bool) -> SqlColumn:
    """Whether the intervals of both sides meet."""
    left, right = (_ends(p, one_batch=one_batch) for p in ("l_", "r_"))
    return lt(left[0], right[1]) & lt(right[0], left[1])


def _meeting(
    left: RelationTable,
    right: RelationTable,
    sides: Sequence[Table],
    keys: Sequence[KeyPair],
    condition: SqlColumn | None,
    together: SqlColumn,
    *,
    keyed: bool,
    few: str = "",
) -> Pairs:
    """The pairs with equal keys that hold together; the condition is computed for no others, as it could fail."""
    matched = together if condition is None else together & F.coalesce(F.when(together, condition), lit(False))
    for x, y, null_safe in reversed(keys):
        p, q = col(f"l_{x}"), col(f"r_{y}")
        matched = (p.same_as(q) if null_safe else p == q) & matched
    if few:
        one, other = sides if few == "r_" else reversed(sides)
        joined = one.join(other, matched, broadcast=True)
    else:
        joined = sides[0].join(sides[1], matched) if keyed else sides[0].pairs(sides[1], matched)
    kept = [f"{p}{c}" for p, r in (("l_", left), ("r_", right)) for c in r.rows.columns]
    starts, ends = zip(*(_ends(p, one_batch=left.one_batch) for p in ("l_", "r_")), strict=True)
    both = interval(greatest(*starts), least(*ends), one_batch=left.one_batch)
    return Pairs(joined.select(*columns(kept), *both), left, right)


def join(op: Join, left: RelationTable, right: RelationTable, run: Run) -> RelationTable:
    """⋈_θ in all its kinds (001 §4.4)."""
    if op.how not in (JoinKind.INNER, JoinKind.SEMI):
        left = replace(left, rows=run.materialized(left.rows))
    if op.how in (JoinKind.RIGHT, JoinKind.FULL):
        right = replace(right, rows=run.materialized(right.rows))
    matches = matching(op, left, right, run)
    _note(op, run)
    if op.how not in (JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI):
        matches = replace(matches, rows=run.materialized(matches.rows))
    match op.how:
        case JoinKind.SEMI:
            return _semi(matches)
        case JoinKind.ANTI:
            return _unmatched(matches, "l_")
        case JoinKind.INNER:
            return _inner(matches, op.both)
        case JoinKind.SINGLE:
            return _single(matches, op.both)
    width = len(op.left.schema)
    nothing_right = [lit(None).alias(f"c{width + k}") for k in range(len(op.right.schema))]
    inner = _inner(matches, op.both)
    result = inner
    if op.how in (JoinKind.LEFT, JoinKind.FULL):
        result = _outer(inner, _unmatched(matches, "l_"), op.both, nothing_right)
    if op.how in (JoinKind.RIGHT, JoinKind.FULL):
        alone = _unmatched(matches, "r_")
        moved = [col(c).alias(f"c{k + width}") for k, c in enumerate(attributes(alone.schema))]
        nothing = [lit(None).alias(f"c{k}") for k in range(width)]
        rows = alone.rows.select(*nothing, *moved, *columns(alone.order), *columns(alone.interval_columns))
        result = tagged(_unstamped(result), replace(alone, rows=rows, schema=op.both, stamp=()), op.both)
    return result


def begun(op: Join, left: Halves, right: Halves, run: Run, *, sent: bool) -> RelationTable:
    """Of an inner join the pairs that begin in an epoch: those of which one row at least does. No row that held before
    is compared with another one that did. `sent`: there are no more new rows than new tuples of the sources, so that
    few may be sent to all."""
    _note(op, run)
    new = matching(op, left.new, right.whole, run, few="l_" if sent else "")
    held = matching(op, left.held, right.new, run, few="r_" if sent else "")
    return _inner(replace(new, rows=new.rows.union(held.rows)), op.both)


def _note(op: Join, run: Run) -> None:
    keys = key_texts(op, sure=run.one_partition)
    if run.one_partition:
        how = f"by {' and '.join(keys)}" if keys else "of all pairs" if run.compares_all_pairs else "by buckets of time"
        run.choices.note(op.label, f"interval join {how}", "few rows are in one partition")
    elif keys:
        why = "keys alone would compare the whole history of a key"
        run.choices.note(op.label, f"interval join by {' and '.join(keys)} and by buckets of time", why)
    else:
        run.choices.note(op.label, "interval join by buckets of time", "no attributes of both sides have to be equal")


def _unstamped(relation: RelationTable) -> RelationTable:
    return replace(relation, stamp=())


def join_near(op: Join, left: RelationTable, right: RelationTable, rows: int, run: Run) -> RelationTable:
    """An inner join of stamped rows whose positions differ by at most so many: a stretch of positions is a key."""
    stretch = col("sn") // long(rows + 1)
    beside = F.explode(F.array(stretch - 1, stretch, stretch + 1))
    sides = [
        replace(left, rows=left.rows.with_column("near", beside)),
        replace(right, rows=right.rows.with_column("near", stretch)),
    ]
    return _inner(matching(op, sides[0], sides[1], run, [("near", "near", False)]), op.both)


def matching(
    op: Join,
    left: RelationTable,
    right: RelationTable,
    run: Run,
    further: Sequence[KeyPair] = (),
    *,
    few: str = "",
) -> Pairs:
    """The pairs that satisfy the join's condition, by its keys where it has any."""
    width = len(op.left.schema)
    names = [f"l_c{k}" for k in range(width)] + [f"r_c{k}" for k in range(len(op.right.schema))]
    condition = None if op.condition == TRUE else compiled(op.condition, Names(op.both, names))
    # Few rows are compared with each other; to look for those that fail would be more work.
    made = [k for k in computed_keys(op) if not run.one_partition or not k.unsure]
    computed = [f"key{n}" for n in range(len(made))]
    left = replace(left, rows=left.rows.with_columns(dict(zip(computed, (k.left for k in made), strict=True))))
    right = replace(right, rows=right.rows.with_columns(dict(zip(computed, (k.right for k in made), strict=True))))
    # Order columns can be attributes; give each side its own copies before attributes are moved.
    kept = [*(a for a, _, _ in further), *computed]
    left, right = _own_order(left, kept), _own_order(right, kept)
    keys = [*column_keys(op), *further]
    equal: list[KeyPair] = [(c, c, False) for c in computed]
    found = pairs(left, right, run, [*keys, *equal], condition, few)
    if not any(k.unsure for k in made):
        return found
    # Where a key is NULL it may have failed: then the condition fails, but for rows that meet a partner only.
    unknown = reduce(or_, (col(c).is_null() for c in computed))
    known = reduce(and_, (col(c).is_not_null() for c in computed))
    counts = [_count(side.rows.where(unknown), run) for side in (left, right)]
    for count, one, other in zip(counts, (unknown, known), (lit(True), unknown), strict=True):
        if count != 0:
            sides = replace(left, rows=left.rows.where(one)), replace(right, rows=right.rows.where(other))
            found = replace(found, rows=found.rows.union(pairs(*sides, run, keys, condition).rows))
    return found


def _count(rows: Table, run: Run) -> int | None:
    """How many rows there are, where that is soon counted: they are few, or none, and most often there are none."""
    if run.state is not None or not is_soon_read(rows):
        return None
    counted = run.measure(rows.agg(F.count(lit(1)).alias("rows")))
    return None if counted is None else counted[0]["rows"]


def _own_order(relation: RelationTable, further: Sequence[str] = ()) -> RelationTable:
    phi, order = relabelled(relation.phi, "x")
    rows = relation.rows.select(
        *columns(attributes(relation.schema)),
        *order,
        *columns(relation.stamp),
        *columns(relation.interval_columns),
        *columns(further),
    )
    return replace(relation, rows=rows, phi=phi)


def _inner(matches: Pairs, both: Schema) -> RelationTable:
    left, right = matches.left, matches.right
    phi: Phi = (
        *mapped(left.phi, lambda c: f"l_{c}"),
        *mapped(right.phi, lambda c: f"r_{c}"),
    )
    values = [*(f"l_{c}" for c in attributes(left.schema)), *(f"r_{c}" for c in attributes(right.schema))]
    made = [col(c).alias(f"c{k}") for k, c in enumerate(values)]
    order = [*(f"l_{c}" for c in left.order), *(f"r_{c}" for c in right.order)]
    rows = matches.rows.select(*made, *columns(order), *columns(matches.interval_columns))
    return RelationTable(
        rows,
        both,
        phi,
        matches.one_batch,
        ordered=left.ordered and right.ordered,
        coalesced=left.coalesced and right.coalesced,
        one_row_per_phi=left.one_row_per_phi and right.one_row_per_phi,
    )


def _single(matches: Pairs, both: Schema) -> RelationTable:
    """A left row beside its partner where it has one, and beside NULLs in the gaps; φ is its own."""
    left, right = matches.left, attributes(matches.right.schema)
    own, kept, width = attributes(left.schema), [*left.order, *left.stamp], len(left.schema)
    paired = matches.rows.select(
        *(col(f"l_{c}").alias(c) for c in own),
        *(col(f"r_{c}").alias(f"c{width + k}") for k, c in enumerate(right)),
        *(col(f"l_{c}").alias(c) for c in kept),
        *columns(matches.interval_columns),
    )
    alone = _unmatched(matches, "l_").rows.select(
        *columns(own),
        *(lit(None).alias(f"c{width + k}") for k in range(len(right))),
        *columns(kept),
        *columns(matches.interval_columns),
    )
    return replace(left.in_pieces(paired.union(alone)), schema=both, coalesced=False, one_row_per_phi=False)


def _semi(matches: Pairs) -> RelationTable:
    """A left row holds where any of its partners does: the union of the intersections."""
    left = matches.left
    kept = [*attributes(left.schema), *left.order, *left.stamp]
    rows = matches.rows.select(*(col(f"l_{c}").alias(c) for c in kept), *columns(matches.interval_columns))
    return replace(left.in_pieces(united(rows, kept, one_batch=left.one_batch)), coalesced=left.ordered)


def _unmatched(matches: Pairs, side: str) -> RelationTable:
    """A row holds where none of its partners does: the gaps between the intersections, and around them."""
    relation = matches.left if side == "l_" else matches.right
    one_batch = relation.one_batch
    whole = relation.rows.columns
    bounds = ["ft", "tt"] if one_batch else ["ft", "fi", "tt", "ti"]
    start, end = (["ft"], ["tt"]) if one_batch else (["ft", "fi"], ["tt", "ti"])
    pieces = matches.rows.select(
        *(col(f"{side}{c}").alias(c) for c in whole),
        _pair(start, "ft", "fi").alias("_from"),
        _pair(end, "tt", "ti").alias("_to"),
    )
    # A last piece of no length, so that the gap at the end is one like the others.
    behind = relation.rows.select(
        *columns(whole), _pair(end, "tt", "ti").alias("_from"), _pair(end, "tt", "ti").alias("_to")
    )
    row = Window.partition_by(*columns(whole)).order_by("_from", "_to")
    before = row.rows(None, -1)
    covered = F.coalesce(F.max("_to").over(before), _pair(start, "ft", "fi"))
    gaps = pieces.union(behind).with_column("_covered", covered).where(col("_covered") < col("_from"))
    kept = [c for c in whole if c not in bounds]
    made = [col("_covered.t").alias("ft"), col("_from.t").alias("tt")]
    if not one_batch:
        made = [
            col("_covered.t").alias("ft"),
            col("_covered.i").alias("fi"),
            col("_from.t").alias("tt"),
            col("_from.i").alias("ti"),
        ]
    rows = gaps.select(*columns(kept), *made)
    return relation.in_pieces(rows)


def _pair(present: Sequence[str], t: str, i: str) -> SqlColumn:
    index = col(i) if i in present else long(0)
    return F.struct(col(t).alias("t"), index.alias("i"))


def _outer(inner: RelationTable, alone: RelationTable, both: Schema, nothing: Sequence[SqlColumn]) -> RelationTable:
    """Pairs, and left rows without a partner: φ_left ++ (⊥), before all pairs of that row."""
    left_order = alone.order
    right_order = [c for c in inner.order if c.startswith("r_")]
    matched = inner.rows.select(
        *columns(attributes(both)),
        *(col(f"l_{c}").alias(f"l_{c}") for c in left_order),
        lit(1).alias("some"),
        *columns(right_order),
        *columns(inner.interval_columns),
    )
    padded = alone.rows.select(
        *columns(attributes(alone.schema)),
        *nothing,
        *(col(c).alias(f"l_{c}") for c in left_order),
        lit(0).alias("some"),
        *(lit(None).alias(c) for c in right_order),
        *columns(alone.interval_columns),
    )
    left_phi = tuple(inner.phi[: len(alone.phi)])
    right_phi = tuple(inner.phi[len(alone.phi) :])
    phi: Phi = (*left_phi, Choice("some", ((), right_phi), ("⊥", None)))
    return replace(inner, rows=matched.union(padded), phi=phi)


def same_identity(left: RelationTable, right: RelationTable, run: Run) -> Pairs:
    """The pairs that are the same tuple: equal φ, as a path, and equal values (001 D18)."""
    sides = [replace(f, rows=f.rows.with_column("path", path(f.phi))) for f in (_own_order(left), _own_order(right))]
    keys = [("path", "path", True), *((c, c, True) for c in attributes(left.schema))]
    return pairs(sides[0], sides[1], run, keys)


def same_values(left: RelationTable, right: RelationTable, run: Run) -> Pairs:
    """The pairs with equal values, NULL equal to NULL."""
    return pairs(_own_order(left), _own_order(right), run, [(c, c, True) for c in attributes(left.schema)])


def intersection(matches: Pairs) -> RelationTable:
    """The left rows where they have a partner."""
    return without_path(_semi(matches))


def difference(matches: Pairs) -> RelationTable:
    """The left rows where they have none."""
    return without_path(_unmatched(matches, "l_"))


def without_path(relation: RelationTable) -> RelationTable:
    return replace(relation, rows=relation.rows.drop("path"))
