"""The DataFrames of sources that say themselves where their rows are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from astralq.algebra.base import Operator
from astralq.algebra.sources import SensedSource, Source, sources_of
from astralq.spark.source_errors import translate_source_error
from astralq.spark.sources.files import read_frame


def declared_frames(
    spark: SparkSession, query: Operator, given: Mapping[str, DataFrame], folder: Path
) -> dict[str, DataFrame]:
    """A DataFrame for each source that is declared with FROM, unless one is given."""
    return {
        s.name: read_frame(spark, s, folder)
        for s in sources_of(query)
        if not isinstance(s, SensedSource) and s.origin is not None and s.name not in given
    }


@contextmanager
def translated_source_errors(sources: Sequence[Source], folder: Path) -> Iterator[None]:
    """Errors that a source's data caused name its file and value."""
    try:
        yield
    except Exception as e:
        for source in sources:
            if not isinstance(source, SensedSource):
                translated = translate_source_error(source, folder, e)
                if translated is not None:
                    raise translated from e
        raise
