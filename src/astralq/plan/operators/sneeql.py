"""SNEEql's streams of windows as tables: each window's rows, and the list of all windows, the empty ones too (003)."""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.relational import Distinct, GroupBy, Project, Rename, Select
from astralq.algebra.sneeql import RowWindows, Scan, TimeWindows
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.direct import aggregated, empty_value
from astralq.plan.aggregate.layouts import aggregates_of, layouts
from astralq.plan.aggregate.partials import prepared
from astralq.plan.columns import Column, Window, col, columns, lit, long
from astralq.plan.encoding.numbering import numbered
from astralq.plan.encoding.scan import asof_forward, equal
from astralq.plan.encoding.tables import (
    Key,
    RelationTable,
    StreamTable,
    WindowsTable,
    attributes,
    in_order,
    mapped,
    order_columns,
    relabelled,
)
from astralq.plan.operators.expressions import Names, compiled
from astralq.plan.run import Run
from astralq.plan.state.epochs import with_kept_tuples
from astralq.plan.table import Assumed, Index, Numbers, Table
from astralq.plan.windows.arithmetic import quotient_down, quotient_up
from astralq.schema import Schema
from astralq.timeline import Instant


def _ticks(every: int, run: Run) -> tuple[Table, int, int]:
    """The ticks t0 + k·every that a run observes and the last one before it, as t and i = 0; and their k's.

    In an epoch, those after `since`: the last one before them is carried along.
    """
    first, high = run.ticks(every, run.start.t if run.since is None else Instant(run.since + 1))
    low = first if run.since is not None else max(0, first - 1)
    if run.since is None and not run.has_started:
        low = max(0, high)
    numbers = Numbers(low, max(low, high + 1))
    return numbers.select((col("id") * every + lit(run.t0)).alias("t"), long(0).alias("i")), low, high


def _exploded(held: Table, first: Column, last: Column, low: int, high: int, every: int, run: Run) -> Table:
    """Each row at each of the ticks with numbers first to last."""
    ranged = held.with_columns({"_low": F.greatest(first, lit(low)), "_high": F.least(last, lit(high))})
    exploded = ranged.where(col("_low") <= col("_high")).with_column("_k", F.explode(F.sequence("_low", "_high")))
    made = {"wt": col("_k") * every + lit(run.t0), "wi": long(0)}
    return exploded.with_columns(made).drop("_low", "_high", "_k")


def _carried(windows: WindowsTable, run: Run, name: str) -> WindowsTable:
    """With the windows of the last tick before this epoch: the next ones are compared and paired with them."""
    if run.state is None:
        return windows
    ticks, rows = windows.ticks, windows.rows
    before = [run.state.get(f"{name}-{part}") for part in ("ticks", "rows")]
    if before[0] is not None and before[1] is not None:
        last = before[0].agg(F.max("t").alias("_last"))
        ticks = before[0].beside(last).where(col("t") == col("_last")).drop("_last").union(ticks)
        held = before[1].beside(last).where(col("wt") == col("_last")).drop("_last")
        rows = held.union(rows, missing=True)
    return replace(
        windows, ticks=run.state.replace(f"{name}-ticks", ticks), rows=run.state.replace(f"{name}-rows", rows)
    )


def scan(op: Scan, relation: RelationTable, run: Run, name: str = "") -> WindowsTable:
    """The whole relation at every tick, after all batches of the tick."""
    ticks, low, high = _ticks(op.every, run)
    t0 = run.t0
    far = lit(run.end + 2 * op.every)
    near = lit(t0 - op.every)
    starts = F.greatest(F.least(col("ft"), far), near)
    ends = F.greatest(F.least(col("tt"), far), near)
    held = _exploded(
        relation.rows,
        quotient_up(starts - lit(t0), op.every),
        quotient_up(ends - lit(t0), op.every) - 1,
        low,
        high,
        op.every,
        run,
    )
    scanned = WindowsTable(ticks, held.drop("ft", "fi", "tt", "ti"), relation.schema, relation.phi, relation.stamp)
    return _carried(scanned, run, name)


def _stamped(stream: StreamTable) -> tuple[Table, tuple[str, ...]]:
    made = {"st": col("t"), "sn": col("n"), "o0": col("n")} | ({} if stream.one_batch else {"si": col("i")})
    return stream.rows.with_columns(made), tuple(n for n in ("st", "si", "sn") if n in made)


def time_windows(op: TimeWindows, stream: StreamTable, run: Run, name: str = "") -> WindowsTable:
    """At every tick, all tuples with tick − start ≤ t ≤ tick − end; it sees all tuples of the tick."""
    stream = numbered(stream, run)
    ticks, low, high = _ticks(op.slide, run)
    first = quotient_up(col("t") + lit(op.end - run.t0), op.slide)
    last = quotient_down(col("t") + lit(op.start - run.t0), op.slide)
    if run.state is not None:
        stream = with_kept_tuples(stream, f"{name}-tuples", run.state)
        tuples = stream.rows
        run.state.compact(f"{name}-tuples", tuples.where(last > lit(high)))
    held, stamp = _stamped(stream)
    held = _exploded(held, first, last, low, high, op.slide, run)
    windows = WindowsTable(ticks, held.drop("t", "i", "n"), stream.schema, (Key("o0"),), stamp)
    return _carried(windows, run, name)


def row_windows(op: RowWindows, stream: StreamTable, run: Run, name: str = "") -> WindowsTable:
    """After every slide rows, those from start to end rows back; its tick is the last row's."""
    stream = numbered(stream, run)
    if run.state is not None:
        stream = with_kept_tuples(stream, f"{name}-tuples", run.state)
        tuples = stream.rows

        # Those that a window after the last one holds.
        count = tuples.agg((F.max("n") + 1).alias("_count"))
        later = quotient_down(col("n") + (op.start + 1), op.slide) > quotient_down(col("_count"), op.slide)
        run.state.compact(f"{name}-tuples", tuples.beside(count).where(later).drop("_count"))
    held, stamp = _stamped(stream)
    ended = held.where(F.pmod(col("n") + 1, lit(op.slide)) == 0)
    if run.since is not None:
        ended = ended.where(col("t") > run.since)
    turn = Window.partition_by("t").order_by("n")
    listed = ended.select(
        quotient_down(col("n") + 1, op.slide).alias("_m"),
        "t",
        (F.row_number().over(turn) - 1).cast("bigint").alias("i"),
    )
    # Row p, counted from 0, is in the windows that end after index rows, p + end + 1 ≤ index ≤ p + start + 1.
    first = F.greatest(quotient_up(col("n") + (op.end + 1), op.slide), lit(1))
    last = quotient_down(col("n") + (op.start + 1), op.slide)
    exploded = held.drop("t", "i").with_columns({"_low": first, "_high": last}).where(col("_low") <= col("_high"))
    exploded = exploded.with_column("_k", F.explode(F.sequence("_low", "_high")))
    rows = exploded.join(listed, col("_k") == col("_m"))
    kept = [*attributes(stream.schema), *stamp, "o0"]
    held = rows.select(*columns(kept), col("t").alias("wt"), col("i").alias("wi"))
    return _carried(WindowsTable(listed.select("t", "i"), held, stream.schema, (Key("o0"),), stamp), run, name)


def product(left: WindowsTable, right: WindowsTable, schema: Schema, run: Run) -> WindowsTable:
    """At every tick of either side, all pairs of both sides' latest windows, left-major."""
    ticks = left.ticks.select("t").union(right.ticks.select("t")).distinct()
    latest = ticks
    for name, side in (("a", left), ("b", right)):
        # The last tick at or before: the first one at or after, with time turned round.
        table = side.ticks.select((-col("t")).alias("_v"), (-col("t")).alias("_tick")).distinct()
        probes = latest.with_column("_v", -col("t"))
        turned = run.time_cut
        turned = replace(turned, first=-(turned.first + turned.width * turned.count))
        nearest = asof_forward(probes, table, keys=[], at=["_v"], payload="_tick", cut=turned, run=run)
        latest = nearest.select(*columns(latest.columns), (-col("_tick_found")).alias(f"{name}t"))
    latest = latest.where(col("at").is_not_null() & col("bt").is_not_null())
    a = left.ticks.select(col("t").alias("_at"), col("i").alias("ai"))
    b = right.ticks.select(col("t").alias("_bt"), col("i").alias("bi"))
    paired = latest.join(a, col("at") == col("_at")).join(b, col("bt") == col("_bt"))
    turn = Window.partition_by("t").order_by("ai", "bi")
    windows = paired.select("t", (F.row_number().over(turn) - 1).cast("bigint").alias("i"), "at", "ai", "bt", "bi")
    sides = []
    for p, side in (("l_", left), ("r_", right)):
        sides.append(side.rows.renamed({c: f"{p}{c}" for c in side.rows.columns}))
    rows = windows.join(sides[0], (col("at") == col("l_wt")) & (col("ai") == col("l_wi")))
    rows = rows.join(sides[1], (col("bt") == col("r_wt")) & (col("bi") == col("r_wi")))
    values = [*(f"l_{c}" for c in attributes(left.schema)), *(f"r_{c}" for c in attributes(right.schema))]
    phi = (*mapped(left.phi, lambda c: f"l_{c}"), *mapped(right.phi, lambda c: f"r_{c}"))
    order = [c for c in order_columns(phi) if c not in values]
    held = rows.select(
        *(col(c).alias(f"c{k}") for k, c in enumerate(values)),
        *columns(dict.fromkeys([*order, *(c for c in order_columns(phi) if c in values)])),
        col("t").alias("wt"),
        col("i").alias("wi"),
    )
    return WindowsTable(windows.select("t", "i"), held, schema, phi)


def unary(op: Select | Project | Rename | GroupBy | Distinct, windows: WindowsTable, run: Run) -> WindowsTable:
    """σ, Π, ρ, aggregation and DISTINCT in each window."""
    names = Names(op.child.schema, attributes(windows.schema), windows.stamp)
    match op:
        case Select():
            return replace(windows, rows=windows.rows.where(compiled(op.condition, names)))
        case Rename():
            return replace(windows, schema=op.schema)
        case Project():
            phi, order = relabelled(windows.phi)
            items = [compiled(e, names).alias(f"c{k}") for k, (_, e) in enumerate(op.items)]
            held = windows.rows.select(*items, *order, *columns(windows.stamp), "wt", "wi")
            return replace(windows, rows=held, schema=op.schema, phi=phi)
        case Distinct():
            values = attributes(windows.schema)
            held = windows.rows.select(*columns(values), "wt", "wi").distinct()
            return replace(windows, rows=held, phi=tuple(Key(c) for c in values), stamp=())
    return _grouped(op, windows, names, run)


def _grouped(op: GroupBy, windows: WindowsTable, names: Names, run: Run) -> WindowsTable:
    order = order_columns(windows.phi)
    rows = windows.rows.select(*prepared(op, names), *(col(c).alias(f"z{j}") for j, c in enumerate(order)), "wt", "wi")
    keys = [f"k{j}" for j in range(len(op.keys))]
    location = op.child.schema.location
    aggregates = aggregates_of(op)
    cut = layouts(aggregates, rows, run, most=2**40)
    values = aggregated(
        Assumed(rows) if cut.assumed else rows,
        ["wt", "wi", *keys],
        aggregates,
        [f"z{j}" for j in range(len(order))],
        cut.by_place,
        planar=location is not None and location.planar,
    )
    if not keys and op.empty_row:
        renamed = values.renamed({"wt": "_wt", "wi": "_wi"})
        same = (col("t") == col("_wt")) & (col("i") == col("_wi"))
        joined = windows.ticks.join(renamed, same, "left")
        filled = [
            (col(f"a{j}") if (value := empty_value(a)) is None else F.coalesce(col(f"a{j}"), value)).alias(f"a{j}")
            for j, (_, a) in enumerate(op.aggregates)
        ]
        values = joined.select(col("t").alias("wt"), col("i").alias("wi"), *filled)
    columns_ = [col(k).alias(f"c{j}") for j, k in enumerate(keys)]
    columns_ += [col(f"a{j}").alias(f"c{len(keys) + j}") for j in range(len(op.aggregates))]
    held = values.select(*columns_, "wt", "wi")
    return replace(windows, rows=held, schema=op.schema, phi=tuple(Key(f"c{j}") for j in range(len(keys))), stamp=())


def stream_of_windows(op: IStream | DStream | RStream, windows: WindowsTable, run: Run) -> StreamTable:
    """rStream, iStream and dStream: by value, against the window before; i numbers a tick's windows."""
    order = tuple(order_columns(windows.phi))
    ticks = windows.ticks.where((col("t") >= run.start.t) & (col("t") <= run.end))
    rows = windows.rows.where((col("wt") >= run.start.t) & (col("wt") <= run.end))
    kept = list(dict.fromkeys([*attributes(windows.schema), *order]))
    if isinstance(op, RStream):
        held = rows.select(*columns(kept), col("wt").alias("t"), col("wi").alias("i"))
        return StreamTable(held.where(run.observed(col("t"))), windows.schema, order, one_batch=False)
    listed = run.materialized(Index(ticks, ("t", "i"), "w"))
    same = (col("wt") == col("t")) & (col("wi") == col("i"))
    numbered_rows = run.materialized(rows.join(listed, same).drop("t", "i"))
    # What is emitted at window w: for I_S its rows but for those of the window before, for D_S the other way round.
    shift = 1 if isinstance(op, IStream) else -1
    values = attributes(windows.schema)
    counts = numbered_rows.group_by(*columns(values), "w").agg(F.count(lit(1)).alias("_count"))
    counts = counts.select(*(col(c).alias(f"_{c}") for c in values), (col("w") + shift).alias("_w"), "_count")
    turn = Window.partition_by(*columns(values), "w").order_by(*in_order(order))
    ranked = numbered_rows.with_column("_rank", F.row_number().over(turn))
    same = equal(columns(values), columns(f"_{c}" for c in values)) & (col("w") == col("_w"))
    rest = ranked.join(counts, same, "left").where(col("_rank") > F.coalesce("_count", lit(0)))
    if isinstance(op, IStream):
        held = rest.select(*columns(kept), col("wt").alias("t"), col("wi").alias("i"))
        return StreamTable(held.where(run.observed(col("t"))), windows.schema, order, one_batch=False)
    following = listed.select((col("w") - 1).alias("_before"), col("t"), col("i"))
    held = rest.join(following, col("w") == col("_before")).select(*columns(kept), "t", "i")
    return StreamTable(held.where(run.observed(col("t"))), windows.schema, order, one_batch=False)
