"""Every query of the examples has a plan without a Spark session: with given facts, and with none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from astralq.algebra.base import Operator
from astralq.algebra.sources import SensedSource
from astralq.language.script import Statement, read_script
from astralq.laws.lower import lower
from astralq.laws.optimize import optimize
from astralq.plan.aggregate.limbs import Range
from astralq.plan.answer import Plan, plan_history
from astralq.plan.encoding.names import meaning
from astralq.plan.explain import Explanation, explained
from astralq.plan.facts import Facts, Times, started_sources, summed_columns
from astralq.plan.run import BatchRun
from astralq.plan.table import Join, Materialize, Table
from astralq.timeline import BatchId, Instant

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.aql"))
SPAN = 600_000_000


def queries() -> list[tuple[str, Statement]]:
    return [
        (f"{path.stem}-{query.number}", query)
        for path in EXAMPLES
        for query in read_script(path.read_text(encoding="utf-8")).queries
    ]


QUERIES = queries()


def facts(query: Operator, t0: Instant | None, rows: int) -> Facts:
    """What could be known of a query's sources: so many rows of ten minutes each."""
    core = lower(query)
    times = {
        (source.name, start): Times(BatchId(Instant(start), 0), Instant(start + SPAN), rows)
        for source, start in started_sources(core, t0)
    }
    ranges = {(source.name, place): Range(rows, 100.0, -8, False) for source, place in summed_columns(core)}
    return Facts(times=times, ranges=ranges)


def planned(query: Statement, rows: int) -> Plan:
    t0 = Instant(0) if query.t0 is None else query.t0
    core = optimize(query.operator).after
    return plan_history(BatchRun(core, facts(core, t0, rows), t0, Instant(t0 + SPAN)))


def tables(plan: Plan) -> list[Table]:
    assert plan.answer is not None
    return list(plan.answer.walk())


@pytest.mark.parametrize(("name", "query"), QUERIES, ids=[name for name, _ in QUERIES])
def test_an_example_is_planned_without_facts(name: str, query: Statement) -> None:
    explanation = Explanation.without_data(query.operator, query.t0)
    plan = explanation.plan
    assert explained(plan)[0].startswith("one partition" if plan.one_partition else "many partitions")
    assert explanation.json["plan"]["tables"] == len(tables(plan))


@pytest.mark.parametrize(("name", "query"), QUERIES, ids=[name for name, _ in QUERIES])
def test_an_example_over_few_rows_compares_no_buckets(name: str, query: Statement) -> None:
    plan = planned(query, 5)
    assert plan.one_partition
    assert not any("bucket" in column for table in tables(plan) for column in table.columns)


@pytest.mark.parametrize(("name", "query"), QUERIES, ids=[name for name, _ in QUERIES])
def test_an_example_over_many_rows_compares_no_pairs_without_keys(name: str, query: Statement) -> None:
    plan = planned(query, 10_000_000)
    sensed = any(isinstance(op, SensedSource) for op in query.operator.walk())
    assert plan.one_partition is False or sensed
    assert not any(isinstance(table, Join) and table.by == "nested" for table in tables(plan))


def test_a_plan_made_from_facts_says_how_many_rows_it_reads() -> None:
    query = next(q for name, q in QUERIES if name.startswith("13"))
    assert explained(planned(query, 10_000_000))[0] == "many partitions: 10,000,000 rows are read"


def test_a_plan_is_the_same_each_time_it_is_made() -> None:
    digests = [[t.digest for _, q in QUERIES for t in tables(planned(q, rows))] for rows in (5, 5)]
    assert digests[0] == digests[1]


def test_few_rows_are_materialized_less_often_than_many() -> None:
    counts = [sum(isinstance(t, Materialize) for _, q in QUERIES for t in tables(planned(q, n))) for n in (5, 10**7)]
    assert counts[0] < counts[1]


def test_plans_are_made_without_pyspark() -> None:
    program = (
        "import sys\n"
        "from tests.plan.test_examples import QUERIES, planned\n"
        "for _, query in QUERIES:\n"
        "    planned(query, 5), planned(query, 10_000_000)\n"
        "assert QUERIES and 'pyspark' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("rows", [5, 10_000_000], ids=["small", "distributed"])
def test_every_column_has_a_registered_name(rows: int) -> None:
    """All but those of the answer, which have the names that the query gives them."""
    names = set()
    for _, query in QUERIES:
        plan = planned(query, rows)
        names |= {c for table in tables(plan) if table != plan.answer for c in table.columns}
    assert {n for n in names if meaning(n) is None} == set()
