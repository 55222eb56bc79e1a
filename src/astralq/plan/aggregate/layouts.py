"""How the values that aggregates add up are cut into limbs: from types, from facts of sources, or measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy
from astralq.expr.nodes import VARIANCES, Aggregate
from astralq.plan.aggregate.limbs import Layout, Range, integer_layout, range_columns, range_of
from astralq.plan.aggregate.moments import moment_layout
from astralq.plan.columns import Column, col
from astralq.plan.facts import SUMMED
from astralq.plan.run import Run
from astralq.plan.sources.provenance import source_column
from astralq.plan.table import Table

ASSUMED = Range(1, 1.0, -53, False)
"""What a plan goes on with as long as values have not been measured."""


@dataclass(frozen=True)
class Layouts:
    """The layouts of the aggregates that add something, by their places; `assumed` if some have to be measured yet."""

    by_place: Mapping[int, Layout]
    assumed: bool = False


def layouts(
    aggregates: Sequence[Aggregate], rows: Table, run: Run, *, below: Operator | None = None, most: int | None = None
) -> Layouts:
    """Of aggregates over rows whose arguments are v0, v1, …; values of a source's own column are known from facts.

    `most` is how many rows there may be, if that is not how many the sources have.
    """
    ranges, assumed = ranges_of(aggregates, rows, run, below=below)
    whole = integer_layouts(aggregates, run.expected_rows if most is None else most)
    return Layouts({k: layout_of(aggregates[k], r) for k, r in ranges.items()} | whole, assumed)


def layout_of(a: Aggregate, known: Range) -> Layout:
    """How the doubles of an aggregate are cut."""
    return moment_layout(known) if a.function in VARIANCES else known.layout


def integer_layouts(aggregates: Sequence[Aggregate], rows: int) -> dict[int, Layout]:
    """Of aggregates that add integers."""
    types = {k: a.args[0].type.name for k, a in enumerate(aggregates) if a.function in ("sum", "avg")}
    return {
        k: integer_layout("INT" if name in ("INT", "NULL") else name, rows)
        for k, name in types.items()
        if name not in ("DOUBLE", "DECIMAL")
    }


def ranges_of(
    aggregates: Sequence[Aggregate], rows: Table, run: Run, *, below: Operator | None
) -> tuple[dict[int, Range], bool]:
    """The ranges of the doubles that are added, all that are not known measured at once."""
    ranges: dict[int, Range] = {}
    asked: list[int] = []
    for k, a in enumerate(aggregates):
        if not _is_added_exactly(a):
            continue
        traced = None if below is None else source_column(below, a.args[0])
        known = None if traced is None else run.facts.ranges.get((traced[0].name, traced[1]))
        if known is None:
            asked.append(k)
        else:
            ranges[k] = known
    if not asked:
        return ranges, False
    measured = measured_ranges(rows, asked, run)
    return ranges | (dict.fromkeys(asked, ASSUMED) if measured is None else measured), measured is None


def _is_added_exactly(a: Aggregate) -> bool:
    """Doubles, and what variances make doubles of."""
    return a.function in SUMMED and (a.args[0].type.name == "DOUBLE" or a.function not in ("sum", "avg"))


def measured_ranges(rows: Table, places: Sequence[int], run: Run) -> dict[int, Range] | None:
    """What there is in the columns v…: one pass over the rows for all of them."""
    asked: list[Column] = []
    for k in places:
        asked += range_columns(col(f"v{k}").cast("double"), f"range{k}_")
    measured = run.measure(rows.agg(*asked))
    return None if measured is None else {k: range_of(measured[0], f"range{k}_") for k in places}


def aggregates_of(op: GroupBy) -> list[Aggregate]:
    return [a for _, a in op.aggregates]
