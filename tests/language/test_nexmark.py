"""examples/nexmark: all 23 queries against DuckDB, on the model at three instants, on Spark, and live."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from astralq.algebra.base import Kind
from astralq.cli.app import app
from astralq.io.files import read_sources
from astralq.language import Statement, read_script
from astralq.model import Change, StreamTuple, run
from astralq.timeline import instant
from tests.language.nexmark import ANSWERS

FOLDER = Path(__file__).parents[2] / "examples" / "nexmark"
SCRIPT = FOLDER / "nexmark.aql"
QUERIES = sorted(ANSWERS)
BEGUN, MIDDLE, END = "2024-07-15T05:59:51Z", "2024-07-15T06:00:03.7Z", "2024-07-15T06:01:10Z"
SLOW = (4, 6, 9, 15, 16, 17, 18, 19, 20)
"""Queries over all bids that ever came, which the model looks at again in every state: too slow for all of them."""


@cache
def queries() -> tuple[Statement, ...]:
    return read_script(SCRIPT.read_text(), folder=FOLDER).queries


@cache
def database(until: int) -> Any:
    """The events up to an instant, with the place of a bid among all; times are numbers of microseconds."""
    found = duckdb.connect()
    found.execute(f"SET VARIABLE until = {until}")
    for table in ("person", "auction", "bid"):
        times = "dateTime, expires" if table == "auction" else "dateTime"
        micros = ", ".join(f"epoch_us({t}) AS {t}" for t in times.split(", "))
        found.execute(f"""CREATE TABLE {table} AS SELECT * REPLACE ({micros})
                          FROM read_csv('{FOLDER}/data/{table}.csv', header = true, timestampformat = '%xT%X%z')
                          WHERE epoch_us(dateTime) <= {until}""")
    place = "row_number() OVER (ORDER BY dateTime, auction, bidder, price, channel, url, extra) AS place"
    found.execute(f"CREATE OR REPLACE TABLE bid AS SELECT *, {place} FROM bid")
    found.execute(f"CREATE TABLE side_input AS SELECT * FROM read_csv('{FOLDER}/data/side_input.csv', header = true)")
    return found


def expected(number: int, until: str) -> Counter[tuple[Any, ...]]:
    return _bag(database(instant(until)).execute(ANSWERS[number]).fetchall())


def _bag(rows: Iterable[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(float(v) if isinstance(v, Decimal) else v for v in row) for row in rows)


def _held(changes: Iterable[tuple[str, tuple[Any, ...]]]) -> Counter[tuple[Any, ...]]:
    """What a relation holds after its changes."""
    held: Counter[tuple[Any, ...]] = Counter()
    for op, values in changes:
        held.update(_bag([values])) if op == "+" else held.subtract(_bag([values]))
    assert all(n >= 0 for n in held.values())
    return +held


@cache
def on_model(number: int) -> tuple[Change | StreamTuple, ...]:
    query = queries()[number]
    found = run(query.operator, read_sources(query.operator, FOLDER), until=instant(last(number)))
    return tuple(r for r in found if isinstance(r, Change | StreamTuple))


def last(number: int) -> str:
    """Up to when the model answers a query."""
    return MIDDLE if number in SLOW else END


@pytest.mark.parametrize(("number", "until"), [(n, u) for n in QUERIES for u in (BEGUN, MIDDLE, END) if u <= last(n)])
def test_the_model_gives_the_answers_of_duckdb(number: int, until: str) -> None:
    rows = [r for r in on_model(number) if r.t <= instant(until)]
    if queries()[number].operator.kind is Kind.RELATION:
        found = _held((r.op, r.values) for r in rows if isinstance(r, Change))
    else:
        found = _bag(r.values for r in rows)
    assert found == expected(number, until)
    assert found or until != last(number)


def test_each_query_is_there_and_named() -> None:
    assert len(queries()) == len(ANSWERS) == 23
    lines = SCRIPT.read_text().splitlines()
    for number, query in enumerate(queries()):
        above = [line for line in lines[: query.line - 1] if line.startswith("-- q")]
        assert above[-1].startswith(f"-- q{number}:")


def test_the_generator_writes_the_files_that_are_there(tmp_path: Path) -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        import generator  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(FOLDER))
    generator.write(tmp_path, 500, 7)
    for file in (FOLDER / "data").glob("*.csv"):
        assert (tmp_path / file.name).read_text() == file.read_text()


# On Spark: all queries in one run, and in one continuous run


def printed(*words: str) -> dict[int, list[dict[str, Any]]]:
    """The rows that a command prints, by the number of the query."""
    said = CliRunner().invoke(app, [*words, "--format", "jsonl", "--time", "micros"])
    assert said.exit_code == 0, said.output
    found: dict[int, list[dict[str, Any]]] = {n: [] for n in QUERIES}
    for row in map(json.loads, said.stdout.splitlines()):
        found[row.pop("_q") - 1].append(row)
    return found


def _compared(number: int, rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """Rows as DuckDB's, times as numbers."""
    types = [a.type.name for a in queries()[number].operator.schema]

    def values(row: dict[str, Any]) -> tuple[Any, ...]:
        shown = list(row.values())[-len(types) :]
        return tuple(_value(v, t) for v, t in zip(shown, types, strict=True))

    if "op" in (rows[0] if rows else {}):
        return _held((r["op"], values(r)) for r in rows)
    return _bag(map(values, rows))


def _value(value: Any, type_: str) -> Any:
    if type_ == "TIMESTAMP" and isinstance(value, str):
        return int(instant(value))
    return float(value) if type_ == "DECIMAL" else value


@pytest.fixture(params=["run", "start"])
def answered(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> dict[int, Any]:
    assert spark is not None
    words = [request.param, str(SCRIPT)]
    if request.param == "start":
        words += ["--once", "--checkpoint", str(tmp_path), "--allow-unbounded-state"]
    return printed(*words)


def test_spark_gives_the_answers_of_duckdb(answered: dict[int, Any]) -> None:
    wrong = [n for n in QUERIES if _compared(n, answered[n]) != expected(n, END)]
    assert not wrong
