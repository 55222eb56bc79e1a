"""The engine as a Spark user meets it: queries over DataFrames, answers as DataFrames."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.base import HasOperator, Operator, operator_of
from astralq.algebra.callables import function as python_function
from astralq.algebra.computed import with_computed
from astralq.algebra.extents import names_of, positions_of
from astralq.algebra.fluent import Columns, RelationQuery, StreamQuery
from astralq.algebra.set_aside import SetAsideWarning
from astralq.algebra.sources import RelationSource, StreamSource, sources_of
from astralq.callables import PythonFunction
from astralq.errors import DataError, PlanError, SchemaError
from astralq.expr.safety import can_fail
from astralq.language.script import read_script
from astralq.laws.optimize import Optimized, rules_without
from astralq.laws.shapes import expressions_below
from astralq.plan.explain import Explanation
from astralq.plan.facts import FEW_ROWS, Facts, Times
from astralq.plan.sources.footers import times_in_footers
from astralq.plan.sql_types import spark_type
from astralq.schema import Attribute, Location, Schema, parse_type
from astralq.spark import server
from astralq.spark.answers import Answered
from astralq.spark.batch import Batch
from astralq.spark.session import use_this_python
from astralq.spark.sources.declared import declared_frames, translated_source_errors
from astralq.spark.sources.given import Given
from astralq.spark.statements import Views
from astralq.spark.together import Together
from astralq.timeline import Instant, instant

Query = str | Operator | HasOperator
Moment = str | datetime | int

_WIDENED = {"timestamp_ntz": "timestamp"}
"""Types that become one of ours, where nothing is lost."""


_DECLARES = re.compile(r"\b(create|bind)\b", re.IGNORECASE)
"""What a text may have that names files or modules, which can be others the next time."""
KEPT_TEXTS = 100
"""How many texts an engine remembers."""


@dataclass
class ReadText:
    """A query whose text was read: its operators, its start, and what the laws made of it."""

    operator: Operator
    t0: Instant | None
    over: tuple[Operator, ...]  # what the names in it stand for
    optimized: Optimized | None = None


class Engine:
    """Answers queries over DataFrames, in a session whose time zone is UTC and whose SQL is ANSI.

    >>> from astralq.spark.session import session
    >>> spark = session("local[2]")
    >>> engine = Engine(spark)
    >>> rows = spark.sql("SELECT id AS v, timestamp_seconds(id * 10) AS ts FROM range(4)")
    >>> s = engine.stream_from(rows, timestamp="ts")
    >>> engine.run("ISTREAM(SELECT sum(v) AS total FROM s [ROWS 2])", s=s).show()
    +-------------------+---+-----+
    |                  t|  i|total|
    +-------------------+---+-----+
    |1970-01-01 00:00:00|  0|    0|
    |1970-01-01 00:00:10|  0|    1|
    |1970-01-01 00:00:20|  0|    3|
    |1970-01-01 00:00:30|  0|    5|
    +-------------------+---+-----+
    <BLANKLINE>
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        few_rows: int = FEW_ROWS,
        laws: bool = True,
        without: Collection[str] = (),
    ) -> None:
        """`spark`: classic or of Spark Connect; without one, a session of the warm server, if there is one (astralq
        server start), else of a Spark that is started. `few_rows`: up to how many rows a run reads its sources into one
        partition. `laws`: whether queries are rewritten, and `without` which laws."""
        spark = spark or server.warm_session()
        zone = spark.conf.get("spark.sql.session.timeZone")
        if zone not in ("UTC", "Etc/UTC", "Z", "GMT"):
            raise PlanError(
                f"the session's time zone is {zone}, and times without an offset are UTC",
                hint='spark.conf.set("spark.sql.session.timeZone", "UTC")',
            )
        if spark.conf.get("spark.sql.ansi.enabled") != "true":
            raise PlanError(
                "the session's SQL is not ANSI, so that wrong values would become NULL without a word",
                hint='spark.conf.set("spark.sql.ansi.enabled", "true")',
            )
        use_this_python(spark)
        self.spark = spark
        self.few_rows = few_rows
        self.rules = rules_without(without, laws=laws)
        self._frames: dict[str, DataFrame] = {}
        self._given = Given(self._frames, Views())
        self._learnt = Facts()  # of the DataFrames that are kept
        self._functions: dict[str, PythonFunction] = {}
        self._texts: dict[tuple[object, ...], ReadText] = {}

    # Sources

    def stream_from(
        self,
        df: DataFrame,
        *,
        timestamp: str,
        position_by: Columns = (),
        batch_by: str | None = None,
        location: tuple[str, str] | None = None,
        planar: bool = False,
        unit: str | None = None,
        name: str | None = None,
        computed: Mapping[str, str] | None = None,
    ) -> StreamQuery:
        """A DataFrame as a stream: the attribute that stamps its tuples, and how simultaneous ones are ordered.

        `timestamp` may be an expression, as `to_timestamp(d, 'yyyyMMdd')`, and `computed` has further attributes with
        their expressions. `unit` says what a numeric timestamp counts; `location` names the two attributes of a place.
        """
        stored = _schema_of(df, None)
        schema, made, stamp = with_computed(stored, computed or {}, timestamp)
        schema = schema.with_location(None if location is None else Location(*location, planar))
        name = self._keep(df, stored, name or f"stream_{len(self._frames) + 1}")
        (by, down), unit = positions_of(position_by), None if unit is None else unit.upper()
        return StreamQuery(StreamSource(name, schema, stamp, by, batch_by, unit=unit, computed=made, descending=down))

    def relation_from(
        self,
        df: DataFrame,
        *,
        valid_from: str | None = None,
        valid_to: str | None = None,
        change: str | None = None,
        at: str | None = None,
        key: Columns = (),
        position_by: Columns = (),
        unit: str | None = None,
        name: str | None = None,
        computed: Mapping[str, str] | None = None,
    ) -> RelationQuery:
        """A DataFrame as a relation: constant, versioned by times of validity, or a log of changes.

        `computed` has further attributes, with expressions.
        """
        stored = _schema_of(df, None)
        schema, made, _ = with_computed(stored, computed or {}, None)
        name = self._keep(df, stored, name or f"relation_{len(self._frames) + 1}")
        by, down = positions_of(position_by)
        source = RelationSource(
            name,
            schema,
            valid_from,
            valid_to,
            change,
            at,
            names_of(key),
            by,
            None if unit is None else unit.upper(),
            computed=made,
            descending=down,
        )
        return RelationQuery(source)

    def _keep(self, df: DataFrame, schema: Schema, name: str) -> str:
        """Keeps a DataFrame under a name; one that is given again, as by a cell that runs twice, takes its place."""
        self._learnt.forget(name)
        self._given = Given(self._frames, Views())
        widened = {
            a.name: F.col(f"`{a.name}`").cast(spark_type(a.type))
            for a, field in zip(schema, df.schema.fields, strict=True)
            if field.dataType.simpleString() in _WIDENED
        }
        self._frames[name] = df.withColumns(widened) if widened else df
        return name

    # Functions

    def function(
        self,
        name: str,
        function: str | Callable[..., Any],
        returns: str,
        *,
        parameters: Sequence[str] | None = None,
        deterministic: bool = False,
        aggregate: bool = False,
    ) -> PythonFunction:
        """A Python function, as `astralq.function` makes it, that the text of queries can name from now on; a name that
        is given again is replaced.

        >>> from astralq.spark.session import session
        >>> spark = session("local[2]")
        >>> engine = Engine(spark)
        >>> rows = spark.sql("SELECT id AS v, timestamp_seconds(id * 10) AS ts FROM range(3)")
        >>> s = engine.stream_from(rows, timestamp="ts")
        >>> squared = engine.function("squared", lambda v: v * v, "BIGINT", deterministic=True)
        >>> [r.w for r in engine.run("SELECT squared(v) AS w FROM s", s=s).collect()]
        [0, 1, 4]
        """
        made = python_function(
            name, function, returns, parameters=parameters, deterministic=deterministic, aggregate=aggregate
        )
        self._functions[name.lower()] = made
        return made

    # Answers

    def run(
        self,
        query: Query,
        *,
        at: Moment | None = None,
        until: Moment | None = None,
        start_at: Moment | None = None,
        dialect: str = "astral",
        folder: str | Path = ".",
        **sources: DataFrame | HasOperator,
    ) -> DataFrame:
        """The answer to a query: the text of one, with START AT and declarations if it needs any, or a query in Python.

        Sources by their names: a DataFrame for one that the query declares, or what `stream_from` and
        `relation_from` gave. Those that are declared FROM csv, json, parquet, jdbc or python are read as the command
        reads them, relative paths in `folder`. `at` asks for the state at an instant, `until` for all up to one. The
        answer is sorted; Spark leaves the sort out where what follows does not look at the order.
        """
        given = {name: q for name, q in sources.items() if not isinstance(q, DataFrame)}
        frames = self._frames | {name: q for name, q in sources.items() if isinstance(q, DataFrame)}
        operator, t0 = self._bound(query, given, start_at, dialect)
        moments = [None if m is None else instant(m) for m in (at, until)]
        with self._declared(operator, frames, Path(folder)) as all_frames:
            # What is learnt of a DataFrame that the engine keeps is learnt once; others may be new ones each time.
            kept = self._learnt if all_frames == self._frames else None
            times = times_in_footers(operator, t0, Path(folder), frames)
            return self.answer(operator, all_frames, t0=t0, at=moments[0], until=moments[1], learnt=kept, times=times)

    @contextmanager
    def _declared(
        self, query: Operator, frames: Mapping[str, DataFrame], folder: Path
    ) -> Iterator[Mapping[str, DataFrame]]:
        """The DataFrames that were given, and of sources that are declared with files those of the files; what is wrong
        with a file is told as the command tells it."""
        read = declared_frames(self.spark, query, frames, folder)
        with translated_source_errors([s for s in sources_of(query) if s.name in read], folder):
            yield {**frames, **read}

    def run_all(
        self,
        queries: Mapping[str, Query],
        *,
        until: Moment | None = None,
        start_at: Moment | None = None,
        dialect: str = "astral",
        sharing: bool = True,
        folder: str | Path = ".",
        **sources: DataFrame | HasOperator,
    ) -> dict[str, DataFrame]:
        """The answers to several queries, as `run` gives each of them; what they have in common is computed once.

        Answers that were computed together stay in memory, or on disk, as long as one of them is used.

        >>> from astralq.spark.session import session
        >>> spark = session("local[2]")
        >>> engine = Engine(spark)
        >>> rows = spark.sql("SELECT id AS v, timestamp_seconds(id * 10) AS ts FROM range(4)")
        >>> s = engine.stream_from(rows, timestamp="ts")
        >>> text = "ISTREAM(SELECT max(v) AS top FROM s [RANGE {} SECONDS SLIDE 10 SECONDS])"
        >>> answers = engine.run_all({"short": text.format(10), "long": text.format(30)}, s=s)
        >>> [r.top for r in answers["long"].collect()]
        [0, 1, 2, 3]
        """
        given = {name: q for name, q in sources.items() if not isinstance(q, DataFrame)}
        frames = self._frames | {name: q for name, q in sources.items() if isinstance(q, DataFrame)}
        end = None if until is None else instant(until)
        bound = {name: self._bound(q, given, start_at, dialect) for name, q in queries.items()}
        for op, _ in bound.values():
            frames |= declared_frames(self.spark, op, frames, Path(folder))
        # One that can fail is answered alone: its error would be that of all.
        shared = {n: q for n, q in bound.items() if sharing and not any(map(can_fail, expressions_below(q[0])))}
        if len(shared) < 2:
            return {name: self.answer(op, frames, t0=t0, until=end) for name, (op, t0) in bound.items()}
        batches = [Batch(op, frames, t0, end, few_rows=self.few_rows, rules=self.rules) for op, t0 in shared.values()]
        together = Together(list(shared), batches)
        together.plan()
        answers = {n: self.answer(op, frames, t0=t0, until=end) for n, (op, t0) in bound.items() if n not in shared}
        for k, name in enumerate(shared):
            answered = together.answered(k)
            for one in answered.plan.set_aside:
                warnings.warn(f"{name}: {one}", SetAsideWarning, stacklevel=2)
            answers[name] = answered.df
        return {name: answers[name] for name in bound}

    def explain(
        self,
        query: Query,
        *,
        start_at: Moment | None = None,
        until: Moment | None = None,
        dialect: str = "astral",
        **sources: HasOperator,
    ) -> Explanation:
        """What the laws make of a query, which of them were refused and why, its plan, and its state: to print, and in
        a notebook as HTML. Nothing is read: the plan is the one for many rows.

        >>> from astralq.spark.session import session
        >>> spark = session("local[2]")
        >>> engine = Engine(spark)
        >>> rows = spark.sql("SELECT id AS v, timestamp_seconds(id * 10) AS ts FROM range(4)")
        >>> s = engine.stream_from(rows, timestamp="ts")
        >>> print(engine.explain("ISTREAM(SELECT * FROM s [RANGE 1 HOUR] WHERE v > 1)", s=s).optimized.after)
        SELECT v > 1L
        └─ STREAM stream_1
        """
        operator, t0 = self._bound(query, sources, start_at, dialect)
        end = None if until is None else instant(until)
        return Explanation.without_data(operator, t0, end, self.rules)

    def _bound(
        self, query: Query, given: Mapping[str, HasOperator], start_at: Moment | None, dialect: str
    ) -> tuple[Operator, Instant | None]:
        """A query's operators and its start: its text is read, and START AT in it counts unless one is given."""
        t0 = None if start_at is None else instant(start_at)
        if not isinstance(query, str):
            return operator_of(query), t0
        read = self._read(query, dialect, {name: operator_of(q) for name, q in given.items()})
        return read.operator, read.t0 if t0 is None else t0

    def _read(self, query: str, dialect: str, given: Mapping[str, Operator]) -> ReadText:
        """A text with one query; what is asked again over the same sources is read once."""
        names: dict[str, Operator | PythonFunction] = {**self._functions, **given}
        key = (query, dialect, *((name, id(of)) for name, of in names.items()))
        if key in self._texts:
            return self._texts[key]
        script = read_script(query, dialect, names)
        if len(script.queries) != 1:
            raise PlanError(f"the text has {len(script.queries)} queries", hint="run one at a time")
        statement = script.queries[0]
        read = ReadText(statement.operator, statement.t0, tuple(given.values()))
        if not self._functions and not _DECLARES.search(query):
            self._texts[key] = read
            for old in list(self._texts)[:-KEPT_TEXTS]:
                self._texts.pop(old, None)
        return read

    def answer(
        self,
        query: Operator,
        frames: Mapping[str, DataFrame],
        *,
        t0: Instant | None = None,
        at: Instant | None = None,
        until: Instant | None = None,
        learnt: Facts | None = None,
        times: Mapping[tuple[str, Instant], Times] | None = None,
    ) -> DataFrame:
        """The answer to a bound query over the DataFrames of its sources.

        Rows that cannot be used, those before the start and changes '-' that find nothing, are counted in a warning.
        """
        answered = self.answered(query, frames, t0=t0, at=at, until=until, learnt=learnt, times=times)
        for one in answered.plan.set_aside:
            warnings.warn(str(one), SetAsideWarning, stacklevel=3)
        return answered.df

    def answered(
        self,
        query: Operator,
        frames: Mapping[str, DataFrame],
        *,
        t0: Instant | None = None,
        at: Instant | None = None,
        until: Instant | None = None,
        learnt: Facts | None = None,
        times: Mapping[tuple[str, Instant], Times] | None = None,
    ) -> Answered:
        """The answer, and its plan; `times` is what is known of sources without reading them, and `learnt` what was
        learnt of the same DataFrames before, to which this run adds."""
        if at is not None and until is not None:
            raise PlanError("both a state and a history are asked for", hint="give either at or until")
        facts = Facts(times=dict(times or {}))
        if learnt is not None:
            facts.ranges, facts.earlier, facts.learnt = learnt.ranges, learnt.earlier, learnt.learnt
        given = None if learnt is None else self._given
        batch = Batch(query, frames, t0, until, at, self.few_rows, facts, self.rules, given)
        read = next((r for r in list(self._texts.values()) if r.operator is query), None)
        if read is not None:
            batch.optimized = read.optimized = read.optimized or batch.optimize()
        plan = batch.plan()
        facts.earlier.update(facts.times)
        assert batch.optimized is not None
        return Answered(batch.answer(plan), plan, batch.optimized, facts)


def _schema_of(df: DataFrame, location: Location | None) -> Schema:
    """The attributes of a DataFrame's columns."""
    found = []
    for field in df.schema.fields:
        name: Any = field.dataType.simpleString()
        try:
            found.append(Attribute(field.name, parse_type(_WIDENED.get(name, name))))
        except SchemaError:
            raise DataError(
                f"the column {field.name!r} is {name}, which no attribute can be",
                hint="leave it out with select, or cast it",
            ) from None
    return Schema(tuple(found), location)
