"""Elementary intervals: between two changes of a group nothing changes, so that each can be computed by itself.

Each row stands in every elementary interval of its group that it covers. That is the direct plan: right for every
function, and as large as the windows overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Window, col, columns, long
from astralq.plan.encoding.batches import ALWAYS, NEVER
from astralq.plan.encoding.scan import Sequential, equal
from astralq.plan.table import Index, Table, Values


@dataclass(frozen=True)
class Elementary:
    """The groups' points in time, numbered: interval e goes from point e to point e + 1."""

    points: Table  # keys, at, e, and the interval as ft, … tt, …
    keys: tuple[str, ...]
    one_batch: bool

    @staticmethod
    def of(
        tables: Sequence[Table], keys: Sequence[str], run: Sequential, *, one_batch: bool, whole: bool = False
    ) -> Elementary:
        """The elementary intervals of tables with keys and intervals; `whole`: from always to never."""
        ends = [("ft", None), ("tt", None)] if one_batch else [("ft", "fi"), ("tt", "ti")]
        zero = long(0)
        every: Table | None = None
        for rows in tables:
            for t, i in ends:
                part = rows.select(
                    *columns(keys), F.struct(col(t).alias("t"), (col(i) if i else zero).alias("i")).alias("at")
                )
                every = part if every is None else every.union(part)
        assert every is not None
        if whole:
            ends_of_time = Values(((ALWAYS, 0), (NEVER, 0)), (("t", "bigint"), ("i", "bigint")))
            every = every.select("at").union(ends_of_time.select(F.struct("t", "i").alias("at")))
        distinct = every.distinct()
        numbered: Table
        if keys or run.one_partition:
            window = Window.partition_by(*keys).order_by("at")
            numbered = distinct.with_columns(
                {"e": F.row_number().over(window).cast("bigint") - 1, "_to": F.lead("at").over(window)}
            )
        else:
            numbered = run.materialized(Index(distinct, ("at",), "e"))
            following = numbered.select((col("e") - 1).alias("_e"), col("at").alias("_to"))
            numbered = numbered.join(following, col("e") == col("_e"), "left").drop("_e")
        made = [col("at.t").alias("ft"), col("_to.t").alias("tt")]
        if not one_batch:
            made = [
                col("at.t").alias("ft"),
                col("at.i").alias("fi"),
                col("_to.t").alias("tt"),
                col("_to.i").alias("ti"),
            ]
        return Elementary(run.materialized(numbered.select(*columns(keys), "at", "e", *made)), tuple(keys), one_batch)

    @property
    def intervals(self) -> Table:
        """keys, e and the interval, without the last point, after which there is nothing."""
        return self.points.drop("at").where(col("tt").is_not_null())

    def members(self, rows: Table) -> Table:
        """Each row of a table once for each elementary interval that it covers, as e; its own interval is gone."""
        bounds = ("ft", "tt") if self.one_batch else ("ft", "fi", "tt", "ti")
        members = rows
        for name, (t, i) in (("_first", ("ft", "fi")), ("_end", ("tt", "ti"))):
            index = long(0) if self.one_batch else col(i)
            table = self.points.select(
                *(col(k).alias(f"{name}_{k}") for k in self.keys),
                col("at").alias(f"{name}_at"),
                col("e").alias(name),
            )
            same = equal(columns(self.keys), columns(f"{name}_{k}" for k in self.keys))
            here = F.struct(col(t).alias("t"), index.alias("i")) == col(f"{name}_at")
            members = members.join(table, same & here).drop(*(f"{name}_{k}" for k in self.keys), f"{name}_at")
        exploded = members.with_column("e", F.explode(F.sequence(col("_first"), col("_end") - 1)))
        return exploded.drop(*bounds, "_first", "_end")
