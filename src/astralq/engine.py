"""The whole engine for Python users: batch queries over DataFrames, and continuous queries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from astralq.algebra.base import HasOperator, operator_of
from astralq.algebra.sources import Origin
from astralq.errors import AstralError, PlanError
from astralq.language.script import read_script
from astralq.laws.optimize import optimize
from astralq.runtime.handle import Handle, Query
from astralq.runtime.progress import RunProgress
from astralq.runtime.queries import ContinuousQuery
from astralq.runtime.run import ContinuousRun, Settings
from astralq.runtime.sinks import CallbackSink, Sink, sink_of
from astralq.runtime.text import write_text_file
from astralq.spark.engine import Engine as BatchEngine
from astralq.spark.engine import Moment
from astralq.spark.session import is_remote
from astralq.timeline import duration, instant

SinkLike = str | Callable[[DataFrame, int], None] | Sink


class Engine(BatchEngine):
    """Answers queries over DataFrames (`run`), and over streaming ones and declared sources, for ever (`start`).

    >>> from tempfile import mkdtemp
    >>> from astralq.spark.session import session
    >>> spark = session("local[2]")
    >>> engine = Engine(spark)
    >>> rows = spark.sql("SELECT id AS v, timestamp_seconds(id * 10) AS ts FROM range(4)")
    >>> s = engine.stream_from(rows, timestamp="ts", name="s")
    >>> handle = engine.start(
    ...     "ISTREAM(SELECT sum(v) AS total FROM s [ROWS 2])",
    ...     checkpoint=mkdtemp(),
    ...     sink=lambda rows, epoch: print([r.total for r in rows.collect()]),
    ...     once=True,
    ...     s=s,
    ... )
    >>> handle.await_termination()
    [0, 1, 3, 5]
    True
    """

    def start(
        self,
        query: Query,
        *,
        checkpoint: str | Path,
        sink: SinkLike | None = None,
        name: str = "1",
        start_at: Moment | None = None,
        dialect: str = "astral",
        folder: str | Path = ".",
        trigger: str = "1 second",
        idle: str | None = None,
        once: bool = False,
        allow_unbounded_state: bool = False,
        on_progress: Callable[[RunProgress], None] | None = None,
        **sources: DataFrame | HasOperator,
    ) -> Handle:
        """Answers a query from now on, exactly once, and gives what it is stopped and watched with.

        The answer goes to the sink: a folder of parquet files, or a function of an epoch's rows (each with its place
        in the answer as _n) and its number; a query text may name its own with INSERT INTO. Sources are declared in
        the text, or streaming DataFrames by name. With the same checkpoint the run resumes where it stopped.
        """
        if is_remote(self.spark):
            raise PlanError(
                "continuous queries need a classic session, and this is one of Spark Connect",
                hint="run them where the driver is, with astralq start or spark-submit",
            )
        settings = Settings(duration(trigger), None if idle is None else duration(idle), once)
        report = on_progress if on_progress is not None else lambda _: None
        run = ContinuousRun(self.spark, Path(checkpoint), settings, on_progress=report, on_failure=_warn)
        bound = self._continuous(
            run, query, name, sink, start_at, dialect, Path(folder), allow_unbounded_state, sources
        )
        run.open([bound], only=False)
        run.start()

        def add(other: Query, *, name: str, sink: SinkLike | None, **more: Any) -> None:
            run.add(*self._continuous(run, other, name, sink, None, dialect, Path(folder), allow_unbounded_state, more))

        return Handle(run, add)

    def _continuous(
        self,
        run: ContinuousRun,
        query: Query,
        name: str,
        sink: SinkLike | None,
        start_at: Moment | None,
        dialect: str,
        folder: Path,
        allow_unbounded_state: bool,
        sources: dict[str, Any],
    ) -> tuple[ContinuousQuery, Sink]:
        run.given.update(self._frames)
        run.given.update({n: df for n, df in sources.items() if isinstance(df, DataFrame)})
        t0 = None if start_at is None else instant(start_at)
        named: Origin | None = None
        if isinstance(query, str):
            given = {n: operator_of(q) for n, q in sources.items() if not isinstance(q, DataFrame)}
            script = read_script(query, dialect, {**self._functions, **given}, folder=folder)
            if len(script.queries) != 1:
                raise PlanError(f"the text has {len(script.queries)} queries", hint="start one, and add the others")
            statement = script.queries[0]
            operator, named = statement.operator, statement.sink
            t0 = statement.t0 if t0 is None else t0
        else:
            operator = operator_of(query)
        if not allow_unbounded_state:
            optimize(operator, self.rules).check_bounded()
        return ContinuousQuery(name, operator, t0, folder, named, rules=self.rules), _sink(sink, named, folder)


def _sink(given: SinkLike | None, named: Origin | None, folder: Path) -> Sink:
    if given is not None and named is not None:
        raise PlanError("the query names where its answer goes, and so does sink", hint="give one of them")
    if named is not None:
        return sink_of(named, folder, write_text_file)
    if given is None:
        raise PlanError("where does the answer go?", hint="give sink, or INSERT INTO … in the query")
    if isinstance(given, str):
        return sink_of(Origin("parquet", given), Path(), write_text_file)
    return given if isinstance(given, Sink) else CallbackSink(given)


def _warn(name: str, error: AstralError) -> None:
    warnings.warn(f"query {name} has stopped: {error}", stacklevel=2)
