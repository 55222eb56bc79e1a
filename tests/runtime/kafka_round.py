"""From Kafka to Kafka, in a process of its own, because Spark needs the connector when it starts.

python -m tests.runtime.kafka_round FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from astralq.language import read_script
from astralq.runtime.queries import ContinuousQuery
from astralq.runtime.run import ContinuousRun, Settings
from astralq.runtime.sinks import sink_of
from astralq.runtime.text import write_text_file
from astralq.spark.session import session
from tests.runtime.kafka import broker, connector_jars


def send(spark: SparkSession, address: str, topic: str, lines: list[str]) -> None:
    df = spark.createDataFrame([(line,) for line in lines], "value string").coalesce(1)
    writer = df.write.format("kafka").option("kafka.bootstrap.servers", address).option("topic", topic)
    writer.option("kafka.request.timeout.ms", "120000").option("kafka.delivery.timeout.ms", "240000").save()


Row = tuple[str, dict[str, object]]


def received(spark: SparkSession, address: str, topic: str) -> tuple[list[Row], list[Row]]:
    """All rows of a topic, and those that a reader keeps who remembers the greatest position of each partition."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", topic)
    read = reader.load().selectExpr(
        "partition", "offset", "CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value"
    )
    found, kept = [], []
    greatest: dict[int, int] = {}
    for r in read.orderBy("partition", "offset").collect():
        found.append((r.key, json.loads(r.value)))
        if position(r.key) > greatest.get(r.partition, -1):
            kept.append(found[-1])
            greatest[r.partition] = position(r.key)
    return found, sorted(kept, key=lambda row: position(row[0]))


def position(key: str) -> int:
    return int(key.split("/")[3])


def main(folder: Path) -> None:
    with broker(folder) as found:
        spark = session("local[2]", {"spark.jars": connector_jars(), "spark.sql.shuffle.partitions": "2"})
        options = f"kafka.bootstrap.servers = '{found.address}'"
        text = (
            f"CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM kafka 'in' OPTIONS ({options}) TIMESTAMP BY ts;\n"
            f"CREATE STREAM c (k INT, v DOUBLE, ts BIGINT) FROM kafka 'csv' OPTIONS ({options}, value = 'csv') "
            "TIMESTAMP BY ts UNIT SECONDS;\n"
            f"INSERT INTO kafka 'out' OPTIONS ({options}) "
            "ISTREAM(SELECT * FROM s [NOW] UNION ALL SELECT k, v, CAST(ts AS TIMESTAMP) FROM c [NOW]);"
        )
        statement = read_script(text).queries[0]
        assert statement.sink is not None
        query = ContinuousQuery("1", statement.operator, None, folder, statement.sink)
        sink = sink_of(statement.sink, folder, write_text_file)
        second = "2026-01-01T00:00:0{}Z"
        rounds = [
            (
                [f'{{"k": {k}, "v": {k}.5, "ts": "{second.format(k)}"}}' for k in (1, 2)] + ["not json"],
                ["7,1.5,1767225602"],
            ),
            ([f'{{"k": {k}, "v": null, "ts": "{second.format(k)}"}}' for k in (3, 4)], ["8,2.5,1767225605", "9,x,3"]),
        ]
        for lines, csv in rounds:
            send(spark, found.address, "in", lines)
            send(spark, found.address, "csv", csv)
            run = ContinuousRun(spark, folder / "c", Settings(once=True))
            run.open([(query, sink)])
            try:
                run.listen()
                run.work()
            finally:
                run.close()
            progress = run.last_progress
            assert progress is not None
            counts = (progress.rows, progress.rejected)
            # What was published is published again: the keys are the same.
            run.epochs._publish(run.epochs.epoch, run.epochs._last_answers)
        assert counts == (8, 2)
        rows, ordered = received(spark, found.address, "out")
        by_key = dict(rows)
        assert len(rows) == 2 * len(by_key), "all rows were sent twice"
        assert all(by_key[key] == value for key, value in rows), "one key, one row"
        assert [(v["k"], v["v"]) for _, v in ordered] == [(1, 1.5), (2, 2.5), (7, 1.5), (3, None), (4, None), (8, 2.5)]
        assert ordered[0][0] == "1/1767225601000000/0/0"
        check_handed_on(spark, folder, options)
        check_heartbeats(spark, folder, found.address, options)
        print("equal")


def check_heartbeats(spark: SparkSession, folder: Path, address: str, options: str) -> None:
    """[000 §6.2] A message that only says how far its topic has come is no tuple."""
    second = "2026-01-01T00:00:0{}Z"
    lines = [f'{{"k": {k}, "ts": "{second.format(k)}", "alive": false}}' for k in (1, 2)]
    send(spark, address, "beats", [*lines, f'{{"ts": "{second.format(9)}", "alive": true}}'])
    text = (
        f"CREATE STREAM s (k INT, ts TIMESTAMP, alive BOOLEAN) FROM kafka 'beats' OPTIONS ({options}) TIMESTAMP BY ts "
        "HEARTBEAT BY alive; INSERT INTO csv 'beaten' OPTIONS (header = 'false') SELECT k FROM s [RANGE 1 SECOND];"
    )
    answer(spark, folder, "beaten", text)
    got = "".join(f.read_text() for f in sorted((folder / "beaten").glob("*.csv")))
    assert [line[0] for line in got.splitlines()] == ["+", "+", "-", "-"], got


def answer(spark: SparkSession, folder: Path, name: str, text: str) -> ContinuousRun:
    """A run to the end of what is there."""
    statement = read_script(text).queries[0]
    assert statement.sink is not None
    query = ContinuousQuery("1", statement.operator, None, folder, statement.sink)
    run = ContinuousRun(spark, folder / f"{name} checkpoint", Settings(once=True))
    run.open([(query, sink_of(statement.sink, folder, write_text_file))])
    try:
        run.listen()
        run.work()
    finally:
        run.close()
    return run


def check_handed_on(spark: SparkSession, folder: Path, options: str) -> None:
    """A stream that one run writes WITH PROGRESS and another one reads: each tuple once, and time that has passed."""
    source = f"CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM kafka 'in' OPTIONS ({options}) TIMESTAMP BY ts;\n"
    emitted = f"INSERT INTO kafka 'handed' OPTIONS ({options}) WITH PROGRESS SELECT k FROM s WHERE k < 3;"
    handed = f"CREATE STREAM m (k INT) FROM kafka 'handed' OPTIONS ({options}) WITH PROGRESS;\n"
    read = "INSERT INTO csv 'got' OPTIONS (header = 'false') SELECT k FROM m [RANGE 1 SECOND];"
    for name, text in (("emitter", source + emitted), ("receiver", handed + read)):
        run = answer(spark, folder, name, text)
        if name == "emitter":
            run.epochs._publish(run.epochs.epoch, run.epochs._last_answers)  # as after a crash
    got = "".join(f.read_text() for f in sorted((folder / "got").glob("*.csv")))
    second = "2026-01-01T00:00:0{}Z"
    entries = [f"+,{second.format(1)},0,1", f"+,{second.format(2)},0,2"]
    exits = [f"-,{second.format('2.000001')},0,1", f"-,{second.format('3.000001')},0,2"]
    assert got.splitlines() == [*entries, *exits], got


if __name__ == "__main__":
    main(Path(sys.argv[1]))
