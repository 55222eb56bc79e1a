"""What the Spark engine notes of its tables is what the operators' properties promise, without any data."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from astralq.algebra.base import Kind
from astralq.algebra.properties import Given, properties
from astralq.plan.planner import Planner
from astralq.plan.run import BatchRun
from astralq.spark.batch import Batch
from tests.agree.compare import frames
from tests.laws.test_properties import one_batch
from tests.queries import nth


@pytest.mark.generated(share=0.4)
def test_a_table_has_the_properties_of_its_operator(spark: SparkSession, seed: int) -> None:
    case = nth(seed)
    query = case.query.operator
    batch = Batch(query, frames(spark, query, case.data))
    batch.plan()
    run = BatchRun(query, batch.facts)
    given = Given.of(None, one_batch(query, case.data))
    planner = Planner(run)
    for op in run.query.walk():
        if op.kind is not Kind.RELATION:
            continue
        table, known = planner.relation(op), properties(op, given)
        # A run may know more: where its first batch has i = 0.
        assert table.one_batch or not known.one_batch_per_instant, op
        assert known.append_only or not table.append_only, op
        assert known.phi_determines_values or not table.one_row_per_phi, op
        assert table.lifetime in (None, known.lifetime) or not table.coalesced, op  # of pieces it is their own
        if table.grid is not None:
            assert known.grid is not None, op
            assert table.grid.is_on(known.grid), op
