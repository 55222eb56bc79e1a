"""SNEEql's streams of windows as tables: each window's rows, and the list of all windows, the empty ones too (003)."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.relational import Distinct, GroupBy, Project, Rename, Select
from astralq.algebra.sneeql import RowWindows, Scan, TimeWindows
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.schema import Schema
from astralq.spark.aggregate.direct import aggregated
from astralq.spark.aggregate.partials import layout_from, prepared
from astralq.spark.context import Run
from astralq.spark.encoding.columns import col, lit, long
from astralq.spark.encoding.frames import (
    Key,
    RelationFrame,
    StreamFrame,
    WindowsFrame,
    attributes,
    columns,
    in_order,
    mapped,
    order_columns,
    relabelled,
)
from astralq.spark.encoding.scan import equal, first_from, indexed, numbered
from astralq.spark.operators.expressions import Names, compiled
from astralq.spark.state.store import joined
from astralq.spark.state.tables import remembered
from astralq.spark.windows.intervals import quotient_down, quotient_up
from astralq.timeline import Instant


def _ticks(every: int, run: Run, df: DataFrame) -> tuple[DataFrame, int, int]:
    """The ticks t0 + k·every that a run observes and the last one before it, as t and i = 0; and their k's.

    In an epoch, those after `since`: the last one before them is carried along.
    """
    first, high = run.ticks(every, run.start.t if run.since is None else Instant(run.since + 1))
    low = first if run.since is not None else max(0, first - 1)
    if run.since is None and not run.has_started:
        low = max(0, high)
    ticks = df.sparkSession.range(low, max(low, high + 1)).select(
        (col("id") * every + lit(run.t0)).alias("t"), long(0).alias("i")
    )
    return ticks, low, high


def _exploded(df: DataFrame, first: Column, last: Column, low: int, high: int, every: int, run: Run) -> DataFrame:
    """Each row at each of the ticks with numbers first to last."""
    ranged = df.withColumns({"_low": F.greatest(first, lit(low)), "_high": F.least(last, lit(high))})
    exploded = ranged.where(col("_low") <= col("_high")).withColumn("_k", F.explode(F.sequence("_low", "_high")))
    made = {"wt": col("_k") * every + lit(run.t0), "wi": long(0)}
    return exploded.withColumns(made).drop("_low", "_high", "_k")


def _carried(frame: WindowsFrame, run: Run, edge: str) -> WindowsFrame:
    """With the windows of the last tick before this epoch: the next ones are compared and paired with them."""
    if run.memory is None:
        return frame
    ticks, df = frame.ticks, frame.df
    kept, rows = (run.memory.kept(f"{edge}-{part}") for part in ("ticks", "rows"))
    if kept is not None and rows is not None:
        last = F.broadcast(kept.agg(F.max("t").alias("_last")))
        ticks = kept.crossJoin(last).where(col("t") == col("_last")).drop("_last").union(ticks)
        df = joined(rows.crossJoin(last).where(col("wt") == col("_last")).drop("_last"), df)
    return replace(frame, ticks=run.memory.replace(f"{edge}-ticks", ticks), df=run.memory.replace(f"{edge}-rows", df))


def scan(op: Scan, frame: RelationFrame, run: Run, edge: str = "") -> WindowsFrame:
    """The whole relation at every tick, after all batches of the tick."""
    ticks, low, high = _ticks(op.every, run, frame.df)
    t0 = run.t0
    far = lit(run.end + 2 * op.every)
    near = lit(t0 - op.every)
    starts = F.greatest(F.least(col("ft"), far), near)
    ends = F.greatest(F.least(col("tt"), far), near)
    df = _exploded(
        frame.df,
        quotient_up(starts - lit(t0), op.every),
        quotient_up(ends - lit(t0), op.every) - 1,
        low,
        high,
        op.every,
        run,
    )
    found = WindowsFrame(ticks, df.drop("ft", "fi", "tt", "ti"), frame.schema, frame.phi, frame.stamp)
    return _carried(found, run, edge)


def _stamped(stream: StreamFrame) -> tuple[DataFrame, tuple[str, ...]]:
    made = {"st": col("t"), "sn": col("n"), "o0": col("n")} | ({} if stream.flat else {"si": col("i")})
    return stream.df.withColumns(made), tuple(n for n in ("st", "si", "sn") if n in made)


def time_windows(op: TimeWindows, stream: StreamFrame, run: Run, edge: str = "") -> WindowsFrame:
    """At every tick, all tuples with tick − start ≤ t ≤ tick − end; it sees all tuples of the tick."""
    stream = numbered(stream, run)
    ticks, low, high = _ticks(op.slide, run, stream.df)
    first = quotient_up(col("t") + lit(op.end - run.t0), op.slide)
    last = quotient_down(col("t") + lit(op.start - run.t0), op.slide)
    if run.memory is not None:
        stream = remembered(stream, f"{edge}-tuples", run.memory)
        tuples = stream.df
        run.memory.trim(f"{edge}-tuples", lambda: tuples.where(last > lit(high)))
    df, stamp = _stamped(stream)
    df = _exploded(df, first, last, low, high, op.slide, run)
    found = WindowsFrame(ticks, df.drop("t", "i", "n"), stream.schema, (Key("o0"),), stamp)
    return _carried(found, run, edge)


def row_windows(op: RowWindows, stream: StreamFrame, run: Run, edge: str = "") -> WindowsFrame:
    """After every slide rows, those from start to end rows back; its tick is the last row's."""
    stream = numbered(stream, run)
    if run.memory is not None:
        stream = remembered(stream, f"{edge}-tuples", run.memory)
        tuples = stream.df

        def needed() -> DataFrame:
            """Those that a window after the last one holds."""
            count = F.broadcast(tuples.agg((F.max("n") + 1).alias("_count")))
            later = quotient_down(col("n") + (op.start + 1), op.slide) > quotient_down(col("_count"), op.slide)
            return tuples.crossJoin(count).where(later).drop("_count")

        run.memory.trim(f"{edge}-tuples", needed)
    df, stamp = _stamped(stream)
    ended = df.where(F.pmod(col("n") + 1, lit(op.slide)) == 0)
    if run.since is not None:
        ended = ended.where(col("t") > run.since)
    turn = Window.partitionBy("t").orderBy("n")
    listed = ended.select(
        quotient_down(col("n") + 1, op.slide).alias("_m"),
        "t",
        (F.row_number().over(turn) - 1).cast("bigint").alias("i"),
    )
    # Row p, counted from 0, is in the windows that end after index rows, p + end + 1 ≤ index ≤ p + start + 1.
    first = F.greatest(quotient_up(col("n") + (op.end + 1), op.slide), lit(1))
    last = quotient_down(col("n") + (op.start + 1), op.slide)
    exploded = df.drop("t", "i").withColumns({"_low": first, "_high": last}).where(col("_low") <= col("_high"))
    exploded = exploded.withColumn("_k", F.explode(F.sequence("_low", "_high")))
    rows = exploded.join(listed, col("_k") == col("_m"))
    kept = [*attributes(stream.schema), *stamp, "o0"]
    df = rows.select(*columns(kept), col("t").alias("wt"), col("i").alias("wi"))
    return _carried(WindowsFrame(listed.select("t", "i"), df, stream.schema, (Key("o0"),), stamp), run, edge)


def product(left: WindowsFrame, right: WindowsFrame, schema: Schema, run: Run) -> WindowsFrame:
    """At every tick of either side, all pairs of both sides' latest windows, left-major."""
    ticks = left.ticks.select("t").union(right.ticks.select("t")).distinct()
    latest = ticks
    for name, side in (("a", left), ("b", right)):
        # The last tick at or before: the first one at or after, with time turned round.
        table = side.ticks.select((-col("t")).alias("_v"), (-col("t")).alias("_tick")).distinct()
        probes = latest.withColumn("_v", -col("t"))
        turned = run.time_cut
        turned = replace(turned, first=-(turned.first + turned.width * turned.count))
        found = first_from(probes, table, keys=[], at=["_v"], payload="_tick", cut=turned, run=run)
        latest = found.select(*columns(latest.columns), (-col("_tick_found")).alias(f"{name}t"))
    latest = latest.where(col("at").isNotNull() & col("bt").isNotNull())
    a = left.ticks.select(col("t").alias("_at"), col("i").alias("ai"))
    b = right.ticks.select(col("t").alias("_bt"), col("i").alias("bi"))
    paired = latest.join(a, col("at") == col("_at")).join(b, col("bt") == col("_bt"))
    turn = Window.partitionBy("t").orderBy("ai", "bi")
    windows = paired.select("t", (F.row_number().over(turn) - 1).cast("bigint").alias("i"), "at", "ai", "bt", "bi")
    sides = []
    for p, side in (("l_", left), ("r_", right)):
        sides.append(side.df.select(*(col(c).alias(f"{p}{c}") for c in side.df.columns)))
    rows = windows.join(sides[0], (col("at") == col("l_wt")) & (col("ai") == col("l_wi")))
    rows = rows.join(sides[1], (col("bt") == col("r_wt")) & (col("bi") == col("r_wi")))
    values = [*(f"l_{c}" for c in attributes(left.schema)), *(f"r_{c}" for c in attributes(right.schema))]
    phi = (*mapped(left.phi, lambda c: f"l_{c}"), *mapped(right.phi, lambda c: f"r_{c}"))
    order = [c for c in order_columns(phi) if c not in values]
    df = rows.select(
        *(col(c).alias(f"c{k}") for k, c in enumerate(values)),
        *columns(dict.fromkeys([*order, *(c for c in order_columns(phi) if c in values)])),
        col("t").alias("wt"),
        col("i").alias("wi"),
    )
    return WindowsFrame(windows.select("t", "i"), df, schema, phi)


def unary(op: Select | Project | Rename | GroupBy | Distinct, frame: WindowsFrame) -> WindowsFrame:
    """σ, Π, ρ, aggregation and DISTINCT in each window."""
    names = Names(op.child.schema, attributes(frame.schema), frame.stamp)
    match op:
        case Select():
            return replace(frame, df=frame.df.where(compiled(op.condition, names)))
        case Rename():
            return replace(frame, schema=op.schema)
        case Project():
            phi, order = relabelled(frame.phi)
            items = [compiled(e, names).alias(f"c{k}") for k, (_, e) in enumerate(op.items)]
            df = frame.df.select(*items, *order, *columns(frame.stamp), "wt", "wi")
            return replace(frame, df=df, schema=op.schema, phi=phi)
        case Distinct():
            values = attributes(frame.schema)
            df = frame.df.select(*columns(values), "wt", "wi").distinct()
            return replace(frame, df=df, phi=tuple(Key(c) for c in values), stamp=())
    return _grouped(op, frame, names)


def _grouped(op: GroupBy, frame: WindowsFrame, names: Names) -> WindowsFrame:
    order = order_columns(frame.phi)
    rows = frame.df.select(*prepared(op, names), *(col(c).alias(f"z{j}") for j, c in enumerate(order)), "wt", "wi")
    keys = [f"k{j}" for j in range(len(op.keys))]
    location = op.child.schema.location
    values = aggregated(
        rows,
        ["wt", "wi", *keys],
        [a for _, a in op.aggregates],
        [f"z{j}" for j in range(len(order))],
        lambda j, a: layout_from(rows, j, a, 2**40),
        planar=location is not None and location.planar,
    )
    if not keys and op.empty_row:
        found = values.withColumnsRenamed({"wt": "_wt", "wi": "_wi"})
        same = (col("t") == col("_wt")) & (col("i") == col("_wi"))
        joined = frame.ticks.join(found, same, "left")
        filled = [
            (F.coalesce(col(f"a{j}"), lit(0)) if a.function == "count" else col(f"a{j}")).alias(f"a{j}")
            for j, (_, a) in enumerate(op.aggregates)
        ]
        values = joined.select(col("t").alias("wt"), col("i").alias("wi"), *filled)
    columns_ = [col(k).alias(f"c{j}") for j, k in enumerate(keys)]
    columns_ += [col(f"a{j}").alias(f"c{len(keys) + j}") for j in range(len(op.aggregates))]
    df = values.select(*columns_, "wt", "wi")
    return replace(frame, df=df, schema=op.schema, phi=tuple(Key(f"c{j}") for j in range(len(keys))), stamp=())


def stream_of_windows(op: IStream | DStream | RStream, frame: WindowsFrame, run: Run) -> StreamFrame:
    """rStream, iStream and dStream: by value, against the window before; i numbers a tick's windows."""
    order = tuple(order_columns(frame.phi))
    ticks = frame.ticks.where((col("t") >= run.start.t) & (col("t") <= run.end))
    rows = frame.df.where((col("wt") >= run.start.t) & (col("wt") <= run.end))
    kept = list(dict.fromkeys([*attributes(frame.schema), *order]))
    if isinstance(op, RStream):
        df = rows.select(*columns(kept), col("wt").alias("t"), col("wi").alias("i"))
        return StreamFrame(df.where(run.observed(col("t"))), frame.schema, order, flat=False)
    listed = run.shared(indexed(ticks, ["t", "i"], "w", run))
    numbered_rows = run.shared(rows.join(listed, (col("wt") == col("t")) & (col("wi") == col("i"))).drop("t", "i"))
    # What is emitted at window w: for I_S its rows but for those of the window before, for D_S the other way round.
    shift = 1 if isinstance(op, IStream) else -1
    values = attributes(frame.schema)
    counts = numbered_rows.groupBy(*columns(values), "w").agg(F.count(lit(1)).alias("_count"))
    counts = counts.select(*(col(c).alias(f"_{c}") for c in values), (col("w") + shift).alias("_w"), "_count")
    turn = Window.partitionBy(*columns(values), "w").orderBy(*in_order(order))
    ranked = numbered_rows.withColumn("_rank", F.row_number().over(turn))
    same = equal(columns(values), columns(f"_{c}" for c in values)) & (col("w") == col("_w"))
    rest = ranked.join(counts, same, "left").where(col("_rank") > F.coalesce("_count", lit(0)))
    if isinstance(op, IStream):
        df = rest.select(*columns(kept), col("wt").alias("t"), col("wi").alias("i"))
        return StreamFrame(df.where(run.observed(col("t"))), frame.schema, order, flat=False)
    following = listed.select((col("w") - 1).alias("_before"), col("t"), col("i"))
    df = rest.join(following, col("w") == col("_before")).select(*columns(kept), "t", "i")
    return StreamFrame(df.where(run.observed(col("t"))), frame.schema, order, flat=False)
