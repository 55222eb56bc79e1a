"""Kills the real process at random moments while rows flow, and compares what came out with the historic run.

python -m tests.runtime.kills [--kills 20] [--rows 200000] [--source files|kafka]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from astralq.language import read_script
from astralq.spark import Engine
from astralq.spark.session import session
from tests.processes import PATIENCE
from tests.runtime.kafka import broker, connector_jars

FILES = 40
_COLUMNS = "(k INT, v DOUBLE, ts TIMESTAMP)"
_FROM = {
    "files": "FROM parquet 's' OPTIONS (maxFilesPerTrigger = '3') TIMESTAMP BY ts LATENESS 20 SECONDS",
    "kafka": "FROM kafka 'in' OPTIONS (kafka.bootstrap.servers = '{broker}', maxOffsetsPerTrigger = '20000') "
    "TIMESTAMP BY ts POSITION BY k LATENESS 1 HOUR",
}
_GROUPED = "ISTREAM(SELECT k, avg(v) AS m, max(v) AS hi, count(*) AS n FROM s [RANGE {} SLIDE {}] GROUP BY k);"
_QUERIES = (
    _GROUPED.format("60 SECONDS", "10 SECONDS"),
    _GROUPED.format("90 SECONDS", "30 SECONDS"),
    "ISTREAM(SELECT * FROM s [PARTITION BY k ROWS 5 SLIDE 1 MINUTE] WHERE v > 25);",
    "ISTREAM(SELECT k, v FROM s [PARTITION BY k ROWS 5 SLIDE 1 MINUTE] WHERE v < 15);",
)
"""The first two have panes in common, the last two a window."""


@dataclass
class Trial:
    """One folder, some queries, one feed, and a process that is killed and started again."""

    folder: Path
    rows: int
    seed: int
    source: str = "files"
    address: str = ""
    jars: str = ""
    killed: int = 0
    log: list[str] = field(default_factory=list)

    @property
    def declared(self) -> str:
        return f"CREATE STREAM s {_COLUMNS} {_FROM[self.source].format(broker=self.address)};\n"

    def prepare(self) -> None:
        """Rows in an order that is disturbed a little, in files."""
        (self.folder / "s").mkdir()
        (self.folder / "all").mkdir()
        rng = np.random.default_rng(self.seed)
        ts = 1_700_000_000_000_000 + np.sort(rng.integers(0, 2_000_000_000, self.rows))
        order = np.argsort(ts + rng.integers(0, 10_000_000, self.rows))
        table = pa.table(
            {
                "k": pa.array(rng.integers(0, 20, self.rows).astype("int32")),
                "v": pa.array(np.round(rng.normal(20, 5, self.rows), 2)),
                "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
            }
        ).take(order)
        size = -(-self.rows // FILES)
        for f in range(FILES):
            pq.write_table(table.slice(f * size, size), self.folder / "all" / f"{f:04d}.parquet")
        inserted = [f"INSERT INTO parquet 'out{n}' {query}\n" for n, query in enumerate(_QUERIES)]
        (self.folder / "q.aql").write_text("".join([self.declared, *inserted]))

    def feed(self, seconds: float) -> None:
        """Lets the files come one by one."""
        for f in sorted((self.folder / "all").glob("*.parquet")):
            if self.source == "files":
                hidden = self.folder / "s" / f".{f.name}"
                os.link(f, hidden)
                hidden.rename(self.folder / "s" / f.name)
            else:
                self._send(f)
            time.sleep(seconds / FILES)

    def _send(self, file: Path) -> None:
        spark = session()
        df = spark.read.parquet(str(file)).selectExpr(
            "to_json(struct(k, v, ts), map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\")) AS value"
        )
        df.write.format("kafka").option("kafka.bootstrap.servers", self.address).option("topic", "in").save()

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "astralq", "start", "q.aql", "--checkpoint", "c", "--master", "local[2]"]
        if self.jars:
            command += ["--conf", f"spark.jars={self.jars}"]
        out = (self.folder / "log.txt").open("ab")
        return subprocess.Popen([*command, *more], cwd=self.folder, stdout=out, stderr=out, start_new_session=True)

    def run(self, kills: int, longest: float) -> None:
        """Feeds, kills at random moments, and goes to the end."""
        moments = random.Random(self.seed)
        feeding = threading.Thread(target=self.feed, args=(kills * (longest / 2 + 4),), daemon=True)
        feeding.start()
        for _ in range(kills):
            process = self.start()
            time.sleep(6 + moments.uniform(0, longest))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                self.killed += 1
            process.wait()
        feeding.join()
        process = self.start("--once")
        assert process.wait(PATIENCE) == 0, (self.folder / "log.txt").read_text()[-3000:]

    def check(self) -> int:
        """The rows of the answers, which are those of historic runs, each once; how many there are."""
        spark = session()
        count = 0
        for n, query in enumerate(_QUERIES):
            statement = read_script(f"{self.declared}{query}").queries[0]
            historic = Engine(spark).answer(statement.operator, {"s": spark.read.parquet(str(self.folder / "all"))})
            expected = [tuple(r) for r in historic.collect()]
            found = [tuple(r) for r in spark.read.parquet(str(self.folder / f"out{n}")).orderBy("_n").collect()]
            assert [r[-1] for r in found] == list(range(len(found))), "rows are missing, or there twice"
            assert [r[:-1] for r in found] == expected, query
            count += len(found)
        late = list((self.folder / "c" / "late").rglob("part-*"))
        assert not late, "nothing was late"
        return count


def trial(source: str, rows: int, kills: int, longest: float, seed: int) -> str:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        jars = connector_jars() if source == "kafka" else ""
        conf = {"spark.jars": jars} if jars else {}
        (folder / "broker").mkdir()
        address = stack.enter_context(broker(folder / "broker")).address if source == "kafka" else ""
        session("local[2]", {"spark.sql.shuffle.partitions": "2", **conf})
        made = Trial(folder, rows, seed, source, address, jars)
        made.prepare()
        made.run(kills, longest)
        answered = made.check()
        return f"{source}: {rows:,} rows, {made.killed} kills, {answered:,} rows of the answers, each once and in order"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--source", choices=["files", "kafka"], default="files")
    parser.add_argument("--longest", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(trial(given.source, given.rows, given.kills, given.longest, given.seed))


if __name__ == "__main__":
    main()
