"""`astralq start`: runs the queries of a file continuously."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from astralq.algebra.sources import RelationSource, SensedSource, StreamSource
from astralq.cli.scripts import Source, errors_of, place
from astralq.errors import AstralError
from astralq.language.script import Statement
from astralq.laws.optimize import optimize
from astralq.laws.rule import Rule
from astralq.laws.rules import RULES
from astralq.timeline import Duration

if TYPE_CHECKING:
    from astralq.runtime.progress import RunProgress
    from astralq.runtime.sinks import Sink

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
"""Spark's Kafka connector; its version is that of Spark."""

ONE_SIGNAL = 0.5
"""Signals within so many seconds count as one: stopping a process group can signal a process twice."""


def start_all(
    source: Source,
    checkpoint: Path,
    *,
    once: bool,
    allow_unbounded_state: bool,
    trigger: Duration,
    idle: Duration | None,
    printed: Sink,
    on_progress: Callable[[RunProgress], None],
    master: str | None,
    conf: dict[str, str],
    rules: Sequence[Rule] = RULES,
    sharing: bool = True,
) -> int:
    """Runs all queries of a file until they end or are stopped; returns the exit status: 2 if one of them failed, while
    the others went on."""
    from astralq.runtime.queries import ContinuousQuery
    from astralq.runtime.run import ContinuousRun, Settings
    from astralq.runtime.sinks import sink_of
    from astralq.runtime.text import write_text_file
    from astralq.spark.error_translation import translated_errors
    from astralq.spark.session import session

    statements = source.script.queries
    with errors_of(source.file), translated_errors():
        if not allow_unbounded_state:
            for statement in statements:
                optimize(statement.operator, rules).check_bounded()
        sinks = [printed if s.sink is None else sink_of(s.sink, source.folder, write_text_file) for s in statements]
        spark = session(master, conf | connector(statements, conf))
        failed: list[str] = []

        def tell(name: str, error: AstralError) -> None:
            failed.append(name)
            statement = next(s for s in statements if str(s.number) == name)
            print(f"{place(source.file, statement)}: {error}", file=sys.stderr, flush=True)

        settings = Settings(trigger, idle, once, sharing)
        run = ContinuousRun(spark, checkpoint, settings, on_progress=on_progress, on_failure=tell)
        queries = [
            ContinuousQuery(str(s.number), s.operator, s.t0, source.folder, s.sink, rules=rules) for s in statements
        ]
        run.open(list(zip(queries, sinks, strict=True)))
        with stopped_by_signals(run.ask_to_stop) as signals:
            try:
                try:
                    run.listen()
                    run.work()
                finally:
                    run.close()
            except Exception:
                # A signal to the whole process group stops Spark too. The next start runs the interrupted epoch again.
                if not signals:
                    raise
    if signals and signals[0] == signal.SIGINT:
        return 128 + signals[0]
    return 2 if failed else 0


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM stop a run after the current epoch; a second signal ends the process at once."""
    seen: list[int] = []
    first = [0.0]

    def handle(number: int, _: object) -> None:
        if seen and time.monotonic() - first[0] > ONE_SIGNAL:
            os._exit(128 + number)  # like a crash: the next start recovers
        if not seen:
            first[0] = time.monotonic()
        seen.append(number)
        stop()

    before = {s: signal.signal(s, handle) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)


def connector(statements: tuple[Statement, ...], conf: dict[str, str]) -> dict[str, str]:
    """The setting that fetches Spark's Kafka connector, if a source or a sink is Kafka."""
    origins = [s.sink for s in statements]
    for s in statements:
        origins += [
            op.origin for op in s.operator.walk() if isinstance(op, StreamSource | RelationSource | SensedSource)
        ]
    if not any(o is not None and o.format == "kafka" for o in origins):
        return {}
    if "kafka" in conf.get("spark.jars", "") + conf.get("spark.jars.packages", ""):
        return {}  # the user provides it
    import pyspark

    given = conf.get("spark.jars.packages", "")
    wanted = f"{CONNECTOR}:{pyspark.__version__}"
    return {"spark.jars.packages": f"{given},{wanted}" if given else wanted}
