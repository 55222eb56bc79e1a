"""Real files are large enough for Spark's own settings, which the session of the small tests turns off."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _normal(normal: SparkSession) -> None:
    """Every test here runs in the normal session."""
