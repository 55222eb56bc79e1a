"""What a user waits for in the first minute: the command over three rows, and one query over a hundred rows, warm.

scripts/bench small [cold|warm …] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

QUERY = """
CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM csv 's.csv' OPTIONS (header = 'true') TIMESTAMP BY ts;
ISTREAM(SELECT k, avg(v) AS mean FROM s [RANGE 1 MINUTE] GROUP BY k);
"""
WARM = "ISTREAM(SELECT k, avg(v) AS mean FROM s [RANGE 1 MINUTE] GROUP BY k)"


def best(rounds: int, run: Callable[[], object]) -> float:
    """The least of the seconds that it takes."""
    taken = []
    for _ in range(rounds):
        begun = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def write_query(folder: Path) -> None:
    """q.aql, and the three rows that it reads."""
    lines = [f"{k % 2},{k}.5,2026-03-01T00:00:{k:02d}Z" for k in range(3)]
    (folder / "s.csv").write_text("k,v,ts\n" + "".join(f"{line}\n" for line in lines))
    (folder / "q.aql").write_text(QUERY)


def cold(rounds: int, console: Console) -> None:
    """The command as a process: with the model, with a Spark of its own, and with the warm server."""
    with tempfile.TemporaryDirectory() as folder:
        write_query(Path(folder))
        discovery = {"SPARK_LOCAL_CONNECT_DISCOVERY": str(Path(folder) / "server.json")}

        def command(*given: str) -> str:
            line = [sys.executable, "-m", "astralq", *given]
            done = subprocess.run(
                line, cwd=folder, env=os.environ | discovery, check=True, capture_output=True, text=True
            )
            return done.stdout

        answers = {command("run", "q.aql", *options) for options in (("--engine", "model"), ())}
        model = best(rounds, lambda: command("run", "q.aql", "--engine", "model"))
        own = best(rounds, lambda: command("run", "q.aql"))
        command("server", "start")
        try:
            answers.add(command("run", "q.aql"))
            warm = best(rounds, lambda: command("run", "q.aql"))
        finally:
            command("server", "stop")
    assert len(answers) == 1, answers
    console.print(f"cold, three rows: model {model:.2f} s, a Spark of its own {own:.2f} s ({own / model:.1f} times)")
    console.print(f"  with the server {warm:.2f} s ({warm / model:.1f} times the model; target 3)")


def warm(rounds: int, console: Console) -> None:
    """One query over a hundred rows in a session that has been used."""
    from astralq.spark import Engine
    from benchmarks.harness import session

    spark = session()
    rows = "SELECT CAST(id % 5 AS INT) AS k, id / 4.0D AS v, timestamp_seconds(id * 7) AS ts FROM range(100)"
    df = spark.sql(rows).localCheckpoint()
    engine = Engine(spark)
    s = engine.stream_from(df, timestamp="ts", name="s")
    frame = "RANGE BETWEEN 60000000 PRECEDING AND CURRENT ROW"
    plain = f"SELECT ts, k, avg(v) OVER (PARTITION BY k ORDER BY unix_micros(ts) {frame}) AS mean FROM {{s}}"
    taken = {
        "astralq": best(rounds + 5, lambda: engine.run(WARM, s=s).collect()),
        "a range frame of plain Spark, entries only": best(rounds + 5, lambda: spark.sql(plain, s=df).collect()),
    }
    for name, seconds in taken.items():
        console.print(f"warm, a hundred rows: {seconds:.2f} s, {name}")


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench small", description="Times what a user waits for first.")
    parser.add_argument("names", nargs="*", choices=[[], "cold", "warm"], metavar="NAME", help="cold, warm")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    asked = parser.parse_args(given)
    console = Console(width=120)
    for name, run in (("cold", cold), ("warm", warm)):
        if not asked.names or name in asked.names:
            run(asked.rounds, console)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
