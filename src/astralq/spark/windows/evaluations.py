"""The table of evaluations: an aperiodic schedule's instants with their bounds, where there is no formula."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.schedules import Measure, TimeSchedule
from astralq.algebra.scopes import Back, Bound, Linear, OfInstant, Scope
from astralq.algebra.windows import WindowSpec
from astralq.errors import WindowError
from astralq.spark.context import Run
from astralq.spark.encoding.batches import NEVER, Id, at, lt
from astralq.spark.encoding.columns import col, lit
from astralq.spark.encoding.frames import columns
from astralq.spark.encoding.scan import Cut, equal, first_from
from astralq.spark.windows.positions import Positions
from astralq.timeline import Instant, format_instant


@dataclass(frozen=True)
class Evaluations:
    """Evaluations e with their closed bounds lo and hi, NULL where a bound depends on the data."""

    df: DataFrame
    run: Run

    @staticmethod
    def of(spec: WindowSpec, run: Run, tuples: DataFrame) -> Evaluations:
        """Those that a run can see: from its first instant, before which there are no tuples, to its end; in an epoch
        from the oldest tuple that is kept."""
        assert isinstance(spec.schedule, TimeSchedule)
        first, spark = run.first_instant, tuples.sparkSession
        if run.memory is not None:
            oldest = tuples.agg(F.min("t")).collect()[0][0]
            first = first if oldest is None else min(first, oldest)
        instants = spec.schedule.between(run.t0, first, run.end)
        rows = [
            (e, _value(spec.scope, spec.scope.lo, e, run), _value(spec.scope, spec.scope.hi, e, run)) for e in instants
        ]
        return Evaluations(spark.createDataFrame(rows, "e bigint, lo bigint, hi bigint"), run)

    def entering(self, df: DataFrame, cut: Cut, name: str) -> DataFrame:
        """The first evaluation with hi ≥ _v."""
        return self._first(df, col("hi"), cut, name, strict=False)

    def leaving(self, df: DataFrame, cut: Cut, name: str) -> DataFrame:
        """The first evaluation with lo > _v."""
        return self._first(df, col("lo"), cut, name, strict=True)

    def following(self, df: DataFrame, cut: Cut, name: str) -> DataFrame:
        """The first evaluation at or after _v."""
        return self._first(df, col("e"), cut, name, strict=False)

    def _first(self, df: DataFrame, bound: Column, cut: Cut, name: str, *, strict: bool) -> DataFrame:
        table = self.df.select(bound.alias("_v"), col("e").alias("_e")).where(col("_v").isNotNull())
        found = first_from(df, table, keys=[], at=["_v"], payload="_e", cut=cut, run=self.run, strict=strict)
        return found.withColumnRenamed("_e_found", name)

    def check_reached(self, positions: Positions) -> None:
        """An upper bound in positions or distance that has not come by its evaluation is an error, as in the model."""
        parts = positions.table.select(*positions.parts).distinct()
        in_positions = "d" not in positions.df.columns
        measure = "p" if in_positions else "d"
        wanted = self.df.where(col("hi") >= 0)
        wanted = wanted.crossJoin(parts) if positions.parts else wanted
        if self.run.since is not None:
            # What came in the epochs before was looked at then, and the tuples that it met may be gone.
            first = positions.table.groupBy(*positions.parts).agg(F.min(measure).alias("_least"))
            same = equal(columns(positions.parts), columns(f"_{g}" for g in positions.parts))
            first = first.select(*(col(g).alias(f"_{g}") for g in positions.parts), "_least")
            wanted = wanted.join(
                first, same & (col("e") > self.run.since) & (col("hi") >= F.coalesce("_least", lit(0)))
            )
            wanted = wanted.select("e", "lo", "hi", *positions.parts)
        reached = wanted.withColumn("_v", col("hi"))
        table = positions.table.select(
            *positions.parts, col(measure).alias("_v"), F.struct(*positions.batch_columns).alias("_batch")
        )
        cut = None if positions.parts else self.run.position_cut
        found = first_from(reached, table, keys=positions.parts, at=["_v"], payload="_batch", cut=cut, run=self.run)
        batch = Id(
            F.coalesce(col("_batch_found.t"), lit(NEVER)),
            None if positions.flat else F.coalesce(col("_batch_found.i"), lit(0)),
        )
        late = found.where(lt(at(col("e")), batch)).select("e", "hi").limit(1).collect()
        if late:
            e, hi = late[0]
            what = f"position {hi}, which has not come" if in_positions else f"{hi} mm, which has not been travelled"
            raise WindowError(f"the window evaluated at {format_instant(Instant(e))} ends at {what} by then")


def _value(scope: Scope, bound: Bound, e: Instant, run: Run) -> int | None:
    match bound:
        case OfInstant():
            return bound.function(e)
        case Linear():
            return bound.value(0, run.t0, scope.measure)
        case Back() if scope.measure is Measure.TIME:
            return e - bound.amount
    return None
