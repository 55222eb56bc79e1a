"""What the Spark engine notes of its tables is what the operators' properties promise, without any data."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from astralq.algebra.base import Kind
from astralq.algebra.properties import Given, properties
from astralq.spark.compile import Compiler
from astralq.spark.context import Run
from astralq.spark.sources.received import Sources
from tests.agree.compare import frames
from tests.laws.test_properties import one_batch
from tests.queries import nth


@pytest.mark.generated(share=0.4)
def test_a_table_has_the_properties_of_its_operator(spark: SparkSession, seed: int) -> None:
    case = nth(seed)
    query = case.query.operator
    run = Run(query, Sources(frames(spark, query, case.data)))
    given = Given.of(None, one_batch(query, case.data))
    compiler = Compiler(run)
    for op in run.query.walk():
        if op.kind is not Kind.RELATION:
            continue
        frame, known = compiler.relation(op), properties(op, given)
        # A run may know more: where its first batch has i = 0.
        assert frame.flat or not known.one_batch_per_instant, op
        assert known.append_only or not frame.endless, op
        assert known.phi_determines_values or not frame.one_row_per_phi, op
        assert frame.lifetime in (None, known.lifetime), op
        if frame.grid is not None:
            assert known.grid is not None, op
            assert frame.grid.is_on(known.grid), op
