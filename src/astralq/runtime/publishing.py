"""What a committed epoch hands to the sinks: answers, and to those WITH PROGRESS how far time has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from astralq.algebra.answers import answer_columns
from astralq.errors import PlanError
from astralq.io.declared import check_progress
from astralq.laws.lower import lower
from astralq.plan.state.store import Metadata, scope_of
from astralq.runtime.checkpoint.tables import Part
from astralq.runtime.queries import ContinuousQuery, QueryState
from astralq.runtime.sinks import Emitter, Progress, Sink, Staged
from astralq.timeline import BatchId, Instant


def check_emitter(query: ContinuousQuery, others: Iterable[ContinuousQuery]) -> None:
    """WITH PROGRESS a tuple is known by its position, so that no two queries can write to one place."""
    sink = query.sink
    if sink is None or not sink.progress:
        return
    check_progress(sink, answer_columns(query.operator))
    for other in others:
        if other.sink is not None and (other.sink.format, other.sink.path) == (sink.format, sink.path):
            raise PlanError(f"two queries are inserted into {sink.path!r} WITH PROGRESS", hint="name two places")


def publish(
    spark: SparkSession,
    root: Path,
    epoch: int,
    queries: Mapping[str, ContinuousQuery],
    sinks: Mapping[str, Sink],
    answers: Mapping[str, Part],
    progress: Mapping[str, Progress],
) -> bool:
    """Hands the answers of an epoch to the sinks; whether all of them have one."""
    for name in sorted({*answers, *progress} & sinks.keys()):
        columns = answer_columns(queries[name].operator)
        sink = sinks[name]
        if name in answers:
            sink.publish(Staged(spark, root, name, epoch, answers[name], columns, progress.get(name)))
        elif isinstance(sink, Emitter):
            sink.advance(spark, name, epoch, columns, progress[name])
    return all(name in sinks for name in answers)


def progress_of(
    queries: Mapping[str, ContinuousQuery], states: Mapping[str, QueryState], metadata: Metadata
) -> dict[str, Progress]:
    """Of the queries that write WITH PROGRESS, from where on and up to where they have answered."""
    found = {}
    for name, query in queries.items():
        state = states[name]
        if query.sink is None or not query.sink.progress or state.since is None:
            continue
        start = metadata.get(f"start {scope_of(lower(query.core), query.t0, state.namespace)}")
        if start is not None:
            found[name] = Progress(BatchId(Instant(start[0]), start[1]), state.since)
    return found
