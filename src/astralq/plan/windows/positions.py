"""The tuples of a stream, part by part, with all that windows measure: positions, batches, the distance travelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, columns, lit
from astralq.plan.encoding.batches import NEVER, Id
from astralq.plan.encoding.scan import NO_CUT, Cut, asof_forward, equal
from astralq.plan.encoding.tables import StreamTable
from astralq.plan.run import Run
from astralq.plan.table import Table
from astralq.plan.windows.odometer import legs, located_points
from astralq.schema import Schema


@dataclass(frozen=True)
class Positions:
    """A stream with each tuple's position p in its part, on demand b0 and b1, the first and last position of its
    batch, and d, the odometer."""

    rows: Table
    schema: Schema
    one_batch: bool
    parts: tuple[str, ...]  # columns g0, g1, … with the values of PARTITION BY
    run: Run
    table: Table  # what lookups read: the tuples as they were when all that is measured was there

    @staticmethod
    def of(stream: StreamTable, partition: Sequence[str], run: Run) -> Positions:
        names = [f"c{stream.schema.index(n)}" for n in partition]
        parts = tuple(f"g{k}" for k in range(len(names)))
        rows: Table = stream.rows.with_columns({g: col(c) for g, c in zip(parts, names, strict=True)})
        if parts:
            by = stream.order_columns if stream.numbered else [*stream.stamp_columns, *stream.order_columns]
            place = F.row_number().over(Window.partition_by(*parts).order_by(*by)).cast("bigint") - 1
            if "kp" in rows.columns:
                # What is kept of a part are its last tuples; the first of those knows its position.
                place = place + F.coalesce(F.min("kp").over(Window.partition_by(*parts)), lit(0))
        else:
            assert stream.numbered
            place = col("n")
        rows = rows.with_column("p", place)
        return Positions(rows, stream.schema, stream.one_batch, parts, run, rows)

    @property
    def batch(self) -> Id:
        return Id(col("t"), None if self.one_batch else col("i"))

    @property
    def batch_columns(self) -> list[str]:
        return ["t"] if self.one_batch else ["t", "i"]

    @property
    def in_part(self) -> Window:
        return Window.partition_by(*self.parts).order_by("p")

    def settled(self) -> Positions:
        """Computed once, so that lookups do not compute it again, each of them."""
        rows = self.run.materialized(self.rows)
        return replace(self, rows=rows, table=rows)

    def with_columns(self, **made: Column) -> Positions:
        return replace(self, rows=self.rows.with_columns(made))

    def with_batches(self) -> Positions:
        """b0 and b1, the ends of each tuple's batch."""
        batch = Window.partition_by(*self.parts, *self.batch_columns)
        return self.with_columns(b0=F.min("p").over(batch), b1=F.max("p").over(batch))

    def with_odometer(self) -> Positions:
        """d, the distance travelled in whole millimetres (004 §3.2.2)."""
        location = self.schema.location
        assert location is not None
        located = located_points(self.rows, [f"c{self.schema.index(n)}" for n in (location.x, location.y)])
        return replace(self, rows=legs(located, self.parts, ("t", "p"), self.run, planar=location.planar))

    # Lookups: other positions' batches

    def batch_at(self, position: Column, name: str, extra: Sequence[str] = ()) -> Positions:
        """The batch of another position of the same part as name_t and name_i, and further columns of its tuple;
        never, and NULL, if there is no such position."""
        kept = list(dict.fromkeys([*self.parts, "p", *self.batch_columns, *extra]))
        table = self.table.select(*(col(c).alias(f"_{c}") for c in kept))
        probes = self.rows.with_column("_at", position)
        same = equal(columns(self.parts), columns(f"_{g}" for g in self.parts))
        joined = probes.join(table, same & (col("_at") == col("_p")), "left")
        made = [F.coalesce(col("_t"), lit(NEVER)).alias(f"{name}_t")]
        if not self.one_batch:
            made.append(F.coalesce(col("_i"), lit(0)).alias(f"{name}_i"))
        made += [col(f"_{c}").alias(f"{name}_{c}") for c in extra]
        return replace(self, rows=joined.select(*columns(self.rows.columns), *made))

    def batch_later(self, by: int, name: str) -> Positions:
        """The batch of the position `by` further on; within parts, or one partition, the neighbours are at hand."""
        if not self.parts and not self.run.one_partition:
            return self.batch_at(col("p") + by, name)
        made = {f"{name}_t": F.coalesce(F.lead("t", by).over(self.in_part), lit(NEVER))}
        if not self.one_batch:
            made[f"{name}_i"] = F.coalesce(F.lead("i", by).over(self.in_part), lit(0))
        return self.with_columns(**made)

    def first_reaching(
        self, measure: str, value: Column, name: str, *, strict: bool = False, extra: Sequence[str] = ()
    ) -> Positions:
        """The first position of the part whose measure, t or d, is at least (strict: more than) a value: name_p, its
        batch, and further columns."""
        payload = ["p", *self.batch_columns, *extra]
        table = self.table.select(
            *self.parts, col(measure).alias("_v"), F.struct(*columns(dict.fromkeys(payload))).alias("_reached")
        )
        probes = self.rows.with_column("_v", value)
        cut = self.run.time_cut if measure == "t" else self._distance_cut()
        reached = asof_forward(
            probes, table, keys=self.parts, at=["_v"], payload="_reached", cut=cut, run=self.run, strict=strict
        )
        got = col("_reached_found")
        made = [got["p"].alias(f"{name}_p"), F.coalesce(got["t"], lit(NEVER)).alias(f"{name}_t")]
        if not self.one_batch:
            made.append(F.coalesce(got["i"], lit(0)).alias(f"{name}_i"))
        made += [got[c].alias(f"{name}_{c}") for c in extra]
        return replace(self, rows=reached.select(*columns(self.rows.columns), *made))

    def _distance_cut(self) -> Cut:
        """Buckets of the distance travelled; how far that is, only the data know. Any cut gives the same answer."""
        if self.parts or self.run.one_partition:
            return NO_CUT
        measured = self.run.measure(self.table.agg(F.max("d").alias("furthest")))
        return Cut.of(0, 0 if measured is None else measured[0]["furthest"] or 0)

    def looked_up(self, name: str) -> Id:
        """A batch that was looked up."""
        return Id(col(f"{name}_t"), None if self.one_batch else col(f"{name}_i"))
