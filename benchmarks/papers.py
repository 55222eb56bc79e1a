"""What the papers claim, measured: they print no numbers.

scripts/bench papers [NAME…] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.table import Table

from astralq.algebra.fluent import StreamQuery
from astralq.language.script import read_script
from astralq.spark import Engine
from astralq.spark.sources.files import read_frame
from benchmarks import laws
from benchmarks.harness import session

ROUNDS = 3
SHIPS = Path(__file__).parents[2] / "shared" / "data" / "ais_bc_2018.csv.gz"


@dataclass(frozen=True)
class Figure:
    """Two ways to the same, or to what a paper compares: how much each has or makes, and how long it takes."""

    claim: str
    papers: str
    what: str
    one: str
    other: str
    count: tuple[float, float]
    seconds: tuple[float, float] | None = None


def timed(make: Callable[[], DataFrame]) -> tuple[int, float]:
    """The rows of an answer, and the best time of some rounds after one to warm up."""
    best, rows = float("inf"), 0
    for attempt in range(ROUNDS + 1):
        began = time.perf_counter()
        answer = make()
        answer.write.format("noop").mode("overwrite").save()  # all of it, and nowhere
        if attempt:
            best = min(best, time.perf_counter() - began)
        else:
            rows = answer.count()
    return rows, best


def both(claim: str, papers: str, what: str, **ways: Callable[[], DataFrame]) -> Figure:
    (one, first), (other, second) = ways.items()
    a, b = timed(first), timed(second)
    names = (one.replace("_", " "), other.replace("_", " "))
    return Figure(claim, papers, what, *names, (a[0], b[0]), (a[1], b[1]))


def ticking(engine: Engine, seconds: int, every: str = "1 SECOND", keys: int = 1) -> StreamQuery:
    """A tuple of each key at every step."""
    rows = engine.spark.sql(
        f"SELECT explode(sequence(TIMESTAMP '2026-03-01', TIMESTAMP '2026-03-01' + INTERVAL {seconds - 1} SECONDS, "
        f"INTERVAL {every})) AS ts, k, CAST(hash(ts, k) % 100 AS INT) AS v FROM "
        f"(SELECT explode(sequence(1, {keys})) AS k)"
    )
    return engine.stream_from(
        rows.select("k", "v", "ts").localCheckpoint(), timestamp="ts", name=f"ticks {seconds} {every} {keys}"
    )


# The claims


def state(spark: SparkSession) -> list[Figure]:
    """001 P4–P6, 000 §5: selections and projections below windows keep less."""
    found = []
    for case in laws.CASES:
        if case.state is None:
            continue
        folder = Path(tempfile.mkdtemp())
        case.make(folder, 400_000)
        sides = [laws.Timed(True), laws.Timed(False)]
        laws.with_state(case, folder, spark, sides)
        shutil.rmtree(folder)
        below, above = (float(s.state or 0) for s in sides)
        what = f"bytes of state, {case.name}"
        found.append(Figure("state", "000 P1–P3, 001 P4–P6", what, "below", "above", (below, above)))
    return found


def evaluations(spark: SparkSession) -> list[Figure]:
    """000 §6.1.2: RANGE x is evaluated at entries and exits, not at every chronon."""
    engine = Engine(spark)
    s = ticking(engine, 3600)
    text = "RSTREAM(SELECT count(*) AS n FROM s [RANGE 10 SECONDS{}]) ON EVALUATION"
    until = "2026-03-01T01:00:11Z"
    return [
        both(
            "evaluations",
            "000 §6.1.2",
            "evaluations of [RANGE 10 SECONDS] in an hour",
            at_entries_and_exits=lambda: engine.run(text.format(""), until=until, s=s),
            every_millisecond=lambda: engine.run(text.format(" SLIDE 1 MILLISECOND"), until=until, s=s),
        )
    ]


def chronon(spark: SparkSession) -> list[Figure]:
    """001 §5.1, §7.2: what RSTREAM at every instant costs depends on how long an instant is."""
    engine = Engine(spark)
    s = ticking(engine, 3600, "10 SECONDS")
    text = "RSTREAM(SELECT v FROM s [RANGE 1 MINUTE])"
    return [
        both(
            "chronon",
            "001 §5.1, §7.2",
            f"rows of RSTREAM over [RANGE 1 MINUTE], an instant of {tick.lower()}",
            at_changes=lambda: engine.run(text, s=s),
            at_every_instant=partial(engine.run, f"SET TICK {tick}; {text}", dialect="cql", s=s),
        )
        for tick in ("1 SECOND", "100 MILLISECONDS", "10 MILLISECONDS")
    ]


def order(spark: SparkSession) -> list[Figure]:
    """002 §2.2: the order of a join decides what windows behind it hold."""
    engine = Engine(spark)
    s = ticking(engine, 3600, "5 SECONDS", 5)
    products = spark.sql("SELECT id AS product, CAST(id % 5 + 1 AS INT) AS section FROM range(20)")
    p = engine.relation_from(products, name="products")
    join = "RSTREAM(SELECT product, v, ts FROM {} WHERE v > 10) EVERY 60 SECONDS"
    window = "s [RANGE 60 SECONDS SLIDE 60 SECONDS] AS t"
    orders = (f"p JOIN {window} ON section = t.k", f"{window} JOIN p ON section = t.k")
    last: list[dict[object, set[tuple[object, ...]]]] = []
    rows = 0
    for one in orders:
        states: dict[object, list[tuple[object, ...]]] = defaultdict(list)
        for r in engine.run(join.format(one), s=s, p=p).collect():
            states[r.t].append((r["product"], r.v, r.ts))
        rows = sum(map(len, states.values()))
        last.append({t: set(held[-10:]) for t, held in states.items()})
    same = sum(last[0][t] == last[1][t] for t in last[0])
    what = f"[ROWS 10] behind a join of {rows:,} rows, with the product first or the measure first"
    return [Figure("order", "002 §2.2, 001 P2", what, "alike in so many batches", "of", (same, len(last[0])))]


def products(spark: SparkSession) -> list[Figure]:
    """003 §6.2: products are made at window ticks only."""
    engine = Engine(spark)
    a, b = ticking(engine, 3600, "10 SECONDS"), ticking(engine, 3600, "20 SECONDS", 2)
    window = "[FROM NOW-1 MIN TO NOW SLIDE 1 {}]"
    text = f"RSTREAM(SELECT count(*) AS pairs FROM a {window}, b {window})"

    other = b.rename({"k": "k2", "v": "v2", "ts": "ts2"})

    def run(slide: str) -> DataFrame:
        return engine.run(text.format(slide, slide), dialect="sneeql", start_at="2026-03-01", a=a, b=other)

    return [
        both(
            "products",
            "003 §6.2",
            "products of two windows of a minute in an hour",
            every_minute=lambda: run("MIN"),
            every_second=lambda: run("SEC"),
        )
    ]


def distance(spark: SparkSession) -> list[Figure]:
    """004 §1: "in the last 50 km" as a window of distance, or as one of time that is long enough for the slowest."""
    if not SHIPS.exists():
        return []
    engine = Engine(spark)
    declared = (
        "CREATE STREAM ships (rowid BIGINT, local_time TIMESTAMP, vessel_id INT, type STRING, lat DOUBLE, lon DOUBLE) "
        f"FROM csv '{SHIPS}' OPTIONS (header = 'true') TIMESTAMP BY local_time POSITION BY rowid "
        "LOCATION BY (lon, lat); SELECT * FROM ships;"
    )
    source = read_script(declared).queries[0].operator
    rows = read_frame(spark, source, SHIPS.parent).where("type = 'Fishing'").localCheckpoint()  # type: ignore[arg-type]

    def fishing(of: Engine) -> StreamQuery:
        return of.stream_from(rows, timestamp="local_time", position_by="rowid", location=("lon", "lat"))

    s = fishing(engine)
    of_window = (
        "SELECT vessel_id, count(*) AS n, min(local_time) AS a, max(local_time) AS b "
        "FROM s [PARTITION BY vessel_id {}] GROUP BY vessel_id"
    )
    moved = "RANGE BY '50 km' RATTR SPACE SLIDE BY '10 km' SATTR SPACE"
    by_distance = engine.run(f"ISTREAM({of_window.format(moved)})", s=s)
    seen = by_distance.select(
        F.avg("n"), F.percentile(F.unix_seconds("b") - F.unix_seconds("a"), F.lit(0.99))
    ).collect()[0]
    hours = int(seen[1] // 3600) + 1
    timely = f"RSTREAM({of_window.format(f'RANGE {hours} HOURS SLIDE 1 HOUR')}) EVERY 1 HOUR"
    by_time = engine.run(timely, s=s).select(F.avg("n")).collect()[0][0]
    held = Figure(
        "distance",
        "004 §1",
        f"positions of a vessel in a window: the last 50 km, or {hours} hours, in which 99 of 100 windows fit",
        "by distance",
        "by time",
        (float(seen[0]), float(by_time)),
    )
    off = Engine(spark, laws=False)
    unchanged = fishing(off)
    (west, east), (south, north) = (rows.approxQuantile(c, [0.4, 0.6], 0.001) for c in ("lon", "lat"))
    corners = ((west, south), (east, south), (east, north), (west, north), (west, south))
    ring = ", ".join(f"{x} {y}" for x, y in corners)
    region = f"CREATE REGION strait AS 'POLYGON (({ring}))'; "
    counted = "SELECT count(*) AS n FROM {} [RANGE 1 DAY SLIDE 1 HOUR]{}"
    inside = "inside(lon, lat, strait)"
    before = f"{region}ISTREAM({counted.format(f'(SELECT * FROM s WHERE {inside})', '')})"
    after = f"{region}ISTREAM({counted.format('s', f' WHERE {inside}')})"
    place = both(
        "distance",
        "004 §1",
        "a region before or after [RANGE 1 DAY SLIDE 1 HOUR], without laws: rows of the answer",
        before=lambda: off.run(before, s=unchanged),
        after=lambda: off.run(after, s=unchanged),
    )
    return [held, place]


def buoys(spark: SparkSession) -> list[Figure]:
    """001 §2.1: 1,250 buoys, with four sensors each, for a day."""
    engine = Engine(spark)
    rows = spark.sql(
        "SELECT buoy, sensor, CAST(20 + 10 * sin(hash(buoy, sensor, ts) / 1e9) AS DOUBLE) AS value, ts FROM "
        "(SELECT explode(sequence(1, 1250)) AS buoy) "
        "CROSS JOIN (SELECT explode(array('SST', 'SLP', 'W', 'SSS')) AS sensor) CROSS JOIN (SELECT explode("
        "sequence(TIMESTAMP '2026-03-01', TIMESTAMP '2026-03-01 23:50:00', INTERVAL 10 MINUTES)) AS ts)"
    ).localCheckpoint()
    s = engine.stream_from(rows, timestamp="ts", name="buoys")
    mean = (
        "RSTREAM(SELECT buoy, avg(value) AS mean FROM s [RANGE 30 MINUTES SLIDE 30 MINUTES] WHERE sensor = 'SST' "
        "GROUP BY buoy) EVERY 30 MINUTES"
    )
    hot = "ISTREAM(SELECT buoy FROM s [PARTITION BY buoy, sensor LAST ROW] WHERE sensor = 'SST' AND value > 29)"
    return [
        both(
            "buoys",
            "001 §2.1, §2.2",
            f"1,250 buoys, {rows.count():,} measures of a day: rows of the answer",
            mean_every_half_hour=lambda: engine.run(mean, s=s),
            those_that_are_hot=lambda: engine.run(hot, s=s),
        )
    ]


CLAIMS: dict[str, Callable[[SparkSession], list[Figure]]] = {
    "state": state,
    "evaluations": evaluations,
    "chronon": chronon,
    "order": order,
    "products": products,
    "distance": distance,
    "buoys": buoys,
}


def table(figures: Sequence[Figure]) -> Table:
    shown = Table("claim", "what", "", title="what the papers claim; seconds, the best of three")
    for column in ("count", "seconds"):
        shown.add_column(column, justify="right")
    for f in figures:
        for k, way in enumerate((f.one, f.other)):
            count = f"{f.count[k]:,.0f}" if f.count[k] >= 100 or f.count[k] == int(f.count[k]) else f"{f.count[k]:,.1f}"
            seconds = "" if f.seconds is None else f"{f.seconds[k]:.2f}"
            shown.add_row(f"{f.claim} ({f.papers})" if k == 0 else "", f.what if k == 0 else "", way, count, seconds)
    return shown


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench papers", description="What the papers claim, measured.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CLAIMS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures are written")
    asked = parser.parse_args(given)
    if wrong := set(asked.names) - set(CLAIMS):
        parser.error(f"no claim is called {', '.join(sorted(wrong))}")
    spark = session()
    figures = [
        f for name, measured in CLAIMS.items() if not asked.names or name in asked.names for f in measured(spark)
    ]
    Console(width=150).print(table(figures))
    if asked.json is not None:
        asked.json.write_text(json.dumps([asdict(f) for f in figures], indent=2, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
