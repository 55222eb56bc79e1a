"""The two engines behind the command: the reference model, and Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from astralq.algebra.answers import answer_columns
from astralq.algebra.base import Kind, Operator
from astralq.algebra.observation import check_ends
from astralq.algebra.sources import Designation, RelationSource, SensedSource, StreamSource, sources_of
from astralq.algebra.streamers import RStream
from astralq.cli.answers import Question
from astralq.cli.scripts import shown
from astralq.errors import AstralError, DataError
from astralq.io.files import described, find_files, read_sensor, read_sources
from astralq.io.reading import SUFFIXES
from astralq.model import run, set_aside, state
from astralq.model.run import observe
from astralq.model.sources import Sites, acquire
from astralq.model.values import Values
from astralq.printing.answers import Answer
from astralq.schema import Attribute
from astralq.timeline import Instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from astralq.plan.explain import Explanation
    from astralq.plan.facts import Times
    from astralq.spark.answers import Answered
    from astralq.spark.together import Together

ENGINES = ("spark", "model")
LITTLE = 2_000_000
"""Bytes of text; some twenty thousand rows."""


class CommandEngine(Protocol):
    """What answers the queries of a command."""

    def share(self, questions: Sequence[Question]) -> None:
        """Plans several queries together, before they are answered one after the other."""

    def answer(self, question: Question) -> Answer: ...

    def retries_alone(self, question: Question) -> bool:
        """Whether a query that failed can be answered again, for itself: what it shared may have failed."""


@dataclass(frozen=True)
class SparkPlace:
    """Which Spark a command uses: one that it starts, the warm server if it fits, or a remote one."""

    master: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    remote: str | None = None
    own: bool = False  # a continuous run needs a Spark of its own
    little: bool = False  # whether little is read

    def session(self) -> SparkSession:
        from astralq.spark.server import warm_session
        from astralq.spark.session import INTERPRETED, connected, session

        conf = dict(self.conf)
        if self.remote is not None:
            return connected(self.remote, {**(INTERPRETED if self.little else {}), **conf})
        if self.own:
            return session(self.master, conf)
        return warm_session(self.master, conf, little=self.little, tell=_tell)


def _tell(message: str) -> None:
    print(f"astralq: {message}", file=sys.stderr)


def engine_named(
    name: str, where: SparkPlace, laws: bool = True, without: Sequence[str] = (), sharing: bool = True
) -> CommandEngine:
    """The engine with its settings; the model knows no laws, and shares nothing."""
    return ModelEngine() if name == "model" else SparkEngine(where, laws, tuple(without), sharing)


def _wants_state(question: Question) -> bool:
    """What a stream emitted up to an instant is a part of its history, with t and i."""
    return question.at is not None and question.statement.operator.kind is not Kind.STREAM


class ModelEngine:
    """Pure Python: slow, and the judge of the other."""

    def share(self, questions: Sequence[Question]) -> None:
        pass

    def retries_alone(self, question: Question) -> bool:
        return False

    def answer(self, question: Question) -> Answer:
        query = question.statement
        data = read_sources(query.operator, question.folder)
        aside = tuple(set_aside(query.operator, data, t0=query.t0))
        if _wants_state(question):
            assert question.at is not None
            rows = state(query.operator, data, question.at, t0=query.t0)
            columns = query.operator.schema.attributes
            return Answer(question.number, shown(question.file), columns, rows, set_aside=aside)
        found = run(query.operator, data, t0=query.t0, until=question.end).rows
        ctx = observe(query.operator, data, query.t0, question.end)
        columns, observed = answer_columns(query.operator), (ctx.start, ctx.end.t)
        return Answer(question.number, shown(question.file), columns, found, set_aside=aside, observed=observed)


@dataclass(frozen=True)
class SparkEngine:
    """Spark, started when the first query needs it."""

    where: SparkPlace = field(default_factory=SparkPlace)
    laws: bool = True
    without: tuple[str, ...] = ()
    sharing: bool = True

    # What the queries of a command share: a source is read once, and plans that were made together.

    @cached_property
    def _read(self) -> dict[tuple[Path, Operator], DataFrame]:
        return {}

    @cached_property
    def _together(self) -> dict[int, tuple[Together, int]]:
        """The queries that are planned together, by their numbers, with their places in the plan."""
        return {}

    @cached_property
    def engine(self) -> Any:
        from astralq.spark import Engine

        return Engine(self.where.session(), laws=self.laws, without=self.without)

    def share(self, questions: Sequence[Question]) -> None:
        from astralq.plan.facts import Facts
        from astralq.spark.batch import Batch
        from astralq.spark.error_translation import translated_errors
        from astralq.spark.together import Together, fits_together

        if not self.sharing or len(questions) < 2:
            return
        batches: dict[int, Batch] = {}
        by_number = {q.number: q for q in questions}
        for q in questions:
            # What is wrong with a query's sources is told when it is answered.
            with suppress(AstralError), translated_errors(), q.translated_source_errors():
                query, until = q.statement, q.until if q.at is None else None
                batches[q.number] = Batch(
                    query.operator, self._frames(q), query.t0, until, q.at, rules=self.engine.rules
                )
        for numbers in fits_together(batches):
            group = [by_number[n] for n in numbers]
            with suppress(AstralError), translated_errors():
                times = {key: t for q in group for key, t in _times_in_footers(q).items()}
                names = [f"query {n}" for n in numbers]
                together = Together(names, [batches[n] for n in numbers], Facts(times=times))
                together.plan()
                self._together.update({n: (together, k) for k, n in enumerate(numbers)})

    def retries_alone(self, question: Question) -> bool:
        if question.number not in self._together:
            return False
        together, place = self._together[question.number]
        if place in together.errors:
            return False  # its own error
        for number in [n for n, (t, _) in self._together.items() if t is together]:
            del self._together[number]
        return True

    def answer(self, question: Question) -> Answer:
        answered = self.answered(question)
        state_ = _wants_state(question)
        operator = question.statement.operator
        columns = operator.schema.attributes if state_ else answer_columns(operator)
        rows = SparkRows(answered.df, columns, question, answered.plan.one_partition)
        aside = answered.plan.set_aside
        observed = answered.plan.observed
        return Answer(question.number, shown(question.file), columns, rows, answered.df, aside, observed)

    def answered(self, question: Question) -> Answered:
        """The answer as a DataFrame, and its plan."""
        from astralq.spark.error_translation import translated_errors

        query = question.statement
        with translated_errors(), question.translated_source_errors():
            if question.number in self._together:
                together, place = self._together[question.number]
                return together.answered(place)
            answered: Answered = self.engine.answered(
                query.operator,
                self._frames(question),
                t0=query.t0,
                at=question.at,
                until=question.until if question.at is None else None,
                times=_times_in_footers(question),
            )
            return answered

    def explanation(self, question: Question) -> Explanation:
        """Laws, plan, and Spark's own plans: of the tables that are computed once, and of the answer."""
        from astralq.plan.explain import Explanation
        from astralq.spark.batch import Batch
        from astralq.spark.error_translation import translated_errors
        from astralq.spark.plans import physical_plans

        query = question.statement
        with translated_errors(), question.translated_source_errors():
            frames = self._frames(question)
            batch = Batch(query.operator, frames, query.t0, question.end, rules=self.engine.rules)
            plan, physical = physical_plans(batch)
        assert batch.optimized is not None
        return Explanation(batch.optimized, plan, query.t0, batch.facts.rows, physical)

    def _frames(self, question: Question) -> dict[str, DataFrame]:
        from astralq.spark.session import parallelism
        from astralq.spark.sources.files import read_frame
        from astralq.spark.sources.sensed import sensed_frame

        query = question.statement
        found: dict[str, DataFrame] = {}
        for op in sources_of(query.operator):
            if isinstance(op, SensedSource):
                check_ends(query.operator, query.t0, question.end)
                assert query.t0 is not None
                assert question.end is not None
                sites = None if op.designation is None else self._designated(op, op.designation, question)
                stream = acquire(op, read_sensor(op, question.folder), query.t0, question.end, sites)
                found[op.name] = sensed_frame(self.engine.spark, op, stream)
                continue
            if (question.folder, op) not in self._read:
                df = read_frame(self.engine.spark, op, question.folder)
                if _is_text(op) and not self.where.little:
                    # Text is parsed once, however often plans read it; a packed file comes as one part.
                    df = df.repartition(parallelism(self.engine.spark)).persist()
                self._read[question.folder, op] = df
            found[op.name] = self._read[question.folder, op]
        return found

    def _designated(self, source: SensedSource, designation: Designation, question: Question) -> Sites:
        """Which sites a relation holds at each tick: their names come to the driver, which asks the sensors."""
        from astralq.spark.sources.files import read_frame

        held = RStream(designation.relation, source.every)
        frames = {
            op.name: read_frame(self.engine.spark, op, question.folder)
            for op in sources_of(held)
            if not isinstance(op, SensedSource)
        }
        found = self.engine.answered(held, frames, t0=question.statement.t0, until=question.end)
        sites: dict[int, dict[Any, None]] = {}
        for t, _, site in SparkRows(found.df, answer_columns(held), question, few=True):
            if site is not None:
                sites.setdefault(int(t), {})[site] = None  # type: ignore[arg-type]
        return lambda tick: sites.get(tick, {})


def _times_in_footers(question: Question) -> dict[tuple[str, Instant], Times]:
    from astralq.plan.sources.footers import times_in_footers

    return times_in_footers(question.statement.operator, question.statement.t0, question.folder)


def rows_in_footers(question: Question) -> dict[str, int]:
    """How many rows the parquet files of a query's streams have; of files that are not there, nobody knows."""
    try:
        return {name: times.rows for (name, _), times in _times_in_footers(question).items()}
    except DataError:
        return {}


def reads_little(questions: Sequence[Question]) -> bool:
    """Whether queries read so little that starting takes longer than running: by the sizes of their files."""
    size = 0
    try:
        for q in questions:
            for op in sources_of(q.statement.operator):
                if isinstance(op, SensedSource):
                    continue
                if op.origin is None or op.origin.format not in SUFFIXES:
                    return False  # nobody knows how much a database has
                for f in find_files(op.origin, q.folder, described(op)):
                    # A row takes about so many bytes of text, and less where it is packed.
                    plain = _is_text(op) and f.path.suffix in (".csv", ".json", ".jsonl", ".txt")
                    size += f.path.stat().st_size * (1 if plain else 10)
    except (AstralError, OSError):
        return False  # what is wrong is told when it is read
    return size <= LITTLE


def _is_text(source: StreamSource | RelationSource) -> bool:
    return source.origin is not None and source.origin.format in ("csv", "json")


@dataclass(frozen=True)
class SparkRows:
    """The rows of an answer, computed when they are asked for, one partition after the other."""

    df: DataFrame
    columns: tuple[Attribute, ...]
    question: Question = field(repr=False)
    few: bool = False  # so few rows were read that the answer comes in one piece

    def __iter__(self) -> Iterator[Values]:
        from astralq.spark.answers import plain, plain_row
        from astralq.spark.error_translation import translated_errors

        with translated_errors(), self.question.translated_source_errors():
            rows = plain(self.df, self.columns)
            nested = any(a.type.is_nested or a.type.name == "BINARY" for a in self.columns)
            for row in rows.collect() if self.few else rows.toLocalIterator(prefetchPartitions=True):
                yield plain_row(row, self.columns) if nested else tuple(row)
