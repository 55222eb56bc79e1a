"""Operators over one relation, unions, and what keeps the encoding tidy: merging the intervals of one identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from astralq.algebra.phi import CopyPhi
from astralq.algebra.relational import Project, Select
from astralq.expr.nodes import Column as Attribute
from astralq.expr.nodes import Expr
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, columns, lit, long
from astralq.plan.encoding.scan import Sequenced, equal
from astralq.plan.encoding.tables import (
    Choice,
    Key,
    Phi,
    RelationTable,
    attributes,
    holds,
    mapped,
    path,
    relabelled,
    same_batches,
)
from astralq.plan.operators.expressions import Names, bounding_boxes, compiled
from astralq.plan.run import Run
from astralq.plan.table import Table
from astralq.schema import Schema


def united(rows: Table, identity: Sequence[str], *, one_batch: bool) -> Table:
    """For each identity the union of its intervals: overlapping and touching ones become one."""
    start, end = (["ft"], ["tt"]) if one_batch else (["ft", "fi"], ["tt", "ti"])
    packed = rows.select(
        *columns(identity), F.struct(*columns(start)).alias("_start"), F.struct(*columns(end)).alias("_end")
    )
    window = Window.partition_by(*columns(identity)).order_by("_start")
    before = window.rows(None, -1)
    upto = window.rows(None, 0)
    # Both structs are compared by their fields, which have other names: cast one to the other.
    reached = F.max("_end").over(before)
    fresh = reached.is_null() | (_fields(reached, end) < _fields(col("_start"), start))
    marked = packed.with_column("_fresh", F.when(fresh, 1).otherwise(0))
    grouped = marked.with_column("_run", F.sum("_fresh").over(upto))
    merged = grouped.group_by(*columns(identity), "_run").agg(
        F.min("_start").alias("_start"), F.max("_end").alias("_end")
    )
    return merged.select(
        *columns(identity),
        *(col(f"_start.{c}").alias(c) for c in start),
        *(col(f"_end.{c}").alias(c) for c in end),
    )


def _fields(struct: Column, names: Sequence[str]) -> Column:
    return F.struct(*(struct[n].alias(f"f{k}") for k, n in enumerate(names)))


def marked(relation: RelationTable, run: Run) -> RelationTable:
    """The relation with `_begins` and `_ends`: whether a row's identity is new at its beginning, and gone at its end.

    In every state φ is unique, so that the rows of one φ follow each other in time: neighbours with equal values that
    touch are the same tuple.
    """
    if relation.knows_begins:  # and nobody asks for ends
        return relation
    if relation.coalesced:
        return replace(relation, rows=relation.rows.with_columns({"_begins": lit(True), "_ends": lit(True)}))
    assert relation.ordered
    values = attributes(relation.schema)
    start, end = (["ft"], ["tt"]) if relation.one_batch else (["ft", "fi"], ["tt", "ti"])
    sequence = Sequenced.of(relation.rows, relation.order, start, run, run.time_cut, few=relation.few)
    # Neighbours have the same φ, so that what of it is an attribute need not be compared.
    compared = [c for c in values if c not in sequence.keys]
    beside = sequence.neighbours([*compared, *end], [*compared, *start])

    def continues(side: str, mine: Sequence[str], theirs: Sequence[str]) -> Column:
        same = equal(columns(compared), columns(f"{side}_{c}" for c in compared))
        return (
            col(f"{side}_{theirs[0]}").is_not_null()
            & same
            & equal(columns(mine), columns(f"{side}_{c}" for c in theirs))
        )

    made = {"_begins": ~continues("last", start, end), "_ends": ~continues("next", end, start)}
    return replace(
        relation, rows=beside.select(*columns(relation.rows.columns), *(c.alias(n) for n, c in made.items()))
    )


def select(op: Select, relation: RelationTable) -> RelationTable:
    """σ: the condition is computed only where a state holds the row, for it could fail elsewhere."""
    names = Names(op.child.schema, attributes(relation.schema), relation.stamp)
    rows = relation.rows
    box = bounding_boxes(op.condition, names)
    if box is not None:
        rows = rows.where(F.when(holds(relation.one_batch), box))
    return replace(relation, rows=rows.where(F.when(holds(relation.one_batch), compiled(op.condition, names))))


def project(op: Project, relation: RelationTable) -> RelationTable:
    """Π: φ, intervals and stamps stay."""
    names = Names(op.child.schema, attributes(relation.schema), relation.stamp)
    # Order columns may be attributes that Π replaces.
    phi, order = relabelled(relation.phi)
    items = [compiled(e, names).alias(f"c{k}") for k, (_, e) in enumerate(op.items)]
    kept = {_attribute(e, relation.schema): f"c{k}" for k, (_, e) in reversed(list(enumerate(op.items)))}
    # Rows that differ may be equal in less of them.
    knows_begins = relation.knows_begins and kept.keys() >= set(attributes(relation.schema)) - set(relation.order)
    further = [*relation.stamp, *relation.interval_columns, *(["_begins"] if knows_begins else [])]
    rows = relation.rows.select(*items, *order, *columns(further))
    windows = tuple(kept[c] for c in relation.window_columns if c in kept)
    separate_by = relation.separate_by
    if separate_by is not None:
        separate_by = tuple(kept[c] for c in separate_by) if kept.keys() >= set(separate_by) else None
    return replace(
        relation,
        rows=rows,
        schema=op.schema,
        phi=phi,
        coalesced=relation.coalesced and (relation.one_row_per_phi or bool(windows)),
        separate_by=separate_by,
        window_columns=windows,
        knows_begins=knows_begins,
    )


def _attribute(e: Expr, schema: Schema) -> str | None:
    """The column of an attribute, if an expression is one."""
    return f"c{schema.index(e.name)}" if isinstance(e, Attribute) and e.name in schema else None


def distinct(relation: RelationTable) -> RelationTable:
    """The different values, ordered and identified by themselves."""
    return by_value(relation.rows, relation.schema, one_batch=relation.one_batch)


def by_value(rows: Table, schema: Schema, *, one_batch: bool) -> RelationTable:
    values = attributes(schema)
    phi = tuple(Key(c) for c in values)
    return RelationTable(united(rows, values, one_batch=one_batch), schema, phi, one_batch)


def tagged(
    left: RelationTable, right: RelationTable, schema: Schema, *, marks: tuple[str, str] = ("0", "1")
) -> RelationTable:
    """Both sides, the left one first: φ = (0) ++ φ_left or (1) ++ φ_right (001 D19)."""
    left, right = same_batches([left, right])
    stamp = tuple(n for n in ("st", "si", "sn") if n in left.stamp and n in right.stamp)
    if left.stamp and right.stamp and ("si" in left.stamp) != ("si" in right.stamp):
        # A stamp without si is one with 0.
        left, right = (_with_index(side) for side in (left, right))
        stamp = tuple(n for n in ("st", "si", "sn") if n in left.stamp and n in right.stamp)
    names = [[f"p{k}_{side}" for k, _ in enumerate(relation.order)] for side, relation in enumerate((left, right))]
    phis = [
        mapped(relation.phi, dict(zip(relation.order, new, strict=True)).__getitem__)
        for relation, new in zip((left, right), names, strict=True)
    ]
    sides = []
    for tag, relation in enumerate((left, right)):
        own = [col(old).alias(new) for old, new in zip(relation.order, names[tag], strict=True)]
        foreign = [lit(None).alias(new) for new in names[1 - tag]]
        order = [*own, *foreign] if tag == 0 else [*foreign, *own]
        sides.append(
            relation.rows.select(
                *columns(attributes(schema)),
                lit(tag).alias("tag"),
                *order,
                *columns(stamp),
                *columns(relation.interval_columns),
            )
        )
    phi: Phi = (Choice("tag", (phis[0], phis[1]), marks),)
    phi, order = relabelled(phi)
    rows = sides[0].union(sides[1])
    rows = rows.select(*columns(attributes(schema)), *order, *columns(stamp), *columns(left.interval_columns))
    return RelationTable(
        rows,
        schema,
        phi,
        left.one_batch,
        stamp,
        ordered=left.ordered and right.ordered,
        coalesced=left.coalesced and right.coalesced,
        one_row_per_phi=left.one_row_per_phi and right.one_row_per_phi,
        append_only=left.append_only and right.append_only,
    )


def mixed(left: RelationTable, right: RelationTable, schema: Schema) -> RelationTable:
    """Both sides in the order of φ, which is made of the same parts: φ ++ (0) or φ ++ (1) (002 §6)."""
    # A tagged union has the tags and stamps; its order columns are put together again.
    both = tagged(left, right, schema)
    assert len(left.order) == len(right.order)
    tag, own = both.order[0], both.order[1:]
    half = len(own) // 2
    made = [F.coalesce(a, b).alias(f"m{k}") for k, (a, b) in enumerate(zip(own[:half], own[half:], strict=True))]
    new = {old: f"m{k}" for k, old in enumerate(left.order)}
    kept = [c for c in both.rows.columns if c not in both.order]
    rows = both.rows.select(*columns(kept), *made, col(tag).alias("side"))
    phi, order = relabelled((*mapped(left.phi, new.__getitem__), Key("side")))
    return replace(both, rows=rows.select(*columns(kept), *order), phi=phi)


def copy_phi(op: CopyPhi, relation: RelationTable) -> RelationTable:
    """ρ_{a/φ}: the numbers of φ's path as a text."""
    text = F.array_join(path(relation.phi), "/")
    return replace(relation, rows=relation.rows.with_column(f"c{len(relation.schema)}", text), schema=op.schema)


def _with_index(relation: RelationTable) -> RelationTable:
    if "si" in relation.stamp:
        return relation
    return replace(
        relation, rows=relation.rows.with_column("si", long(0)), stamp=(relation.stamp[0], "si", *relation.stamp[1:])
    )
