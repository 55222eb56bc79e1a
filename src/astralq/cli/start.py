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
from astralq.errors import AstralError, PlanError
from astralq.language.script import Statement, read_script
from astralq.laws.optimize import optimize
from astralq.laws.rule import Rule
from astralq.laws.rules import RULES
from astralq.timeline import Duration

if TYPE_CHECKING:
    from astralq.cli.live import Printed
    from astralq.runtime.control import AddedQuery
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
    printed: Printed,
    on_progress: Callable[[RunProgress], None],
    master: str | None,
    conf: dict[str, str],
    rules: Sequence[Rule] = RULES,
    sharing: bool = True,
) -> int:
    """Runs all queries of a file until they end or are stopped; returns the exit status: 2 if one of them failed, while
    the others went on."""
    from astralq.runtime.control import Membership, Request, Requests
    from astralq.runtime.queries import ContinuousQuery
    from astralq.runtime.run import ContinuousRun, Settings
    from astralq.runtime.sinks import sink_of
    from astralq.runtime.text import write_text_file
    from astralq.spark.error_translation import translated_errors
    from astralq.spark.session import session

    membership = Membership.read(checkpoint)
    statements = [s for s in source.script.queries if str(s.number) not in membership.dropped]
    for s in source.script.queries:
        if s not in statements:
            print(f"{place(source.file, s)}: it was dropped from this run", file=sys.stderr, flush=True)
    with errors_of(source.file), translated_errors():
        if not allow_unbounded_state:
            for statement in statements:
                optimize(statement.operator, rules).check_bounded()
        added = [(q.name, Path(q.folder), added_statement(q)) for q in membership.added]
        spark = session(master, conf | connector([*statements, *(s for _, _, s in added)], conf))
        failed: list[str] = []

        def tell(name: str, error: AstralError) -> None:
            failed.append(name)
            where = next((place(source.file, s) for s in statements if str(s.number) == name), f"query {name}")
            print(f"{where}: {error}", file=sys.stderr, flush=True)

        def joined(name: str, folder: Path, s: Statement) -> tuple[ContinuousQuery, Sink]:
            sink = printed if s.sink is None else sink_of(s.sink, folder, write_text_file)
            return ContinuousQuery(name, s.operator, s.t0, folder, s.sink, rules=rules), sink

        def carry_out(request: Request) -> None:
            nonlocal membership
            own = {str(q.number) for q in source.script.queries}
            if request.drop is not None:
                run.drop(request.drop)
                membership = membership.without(request.drop)
                membership.write(checkpoint)
            for query in request.add:
                if query.name in own or query.name in membership.dropped:
                    # What a checkpoint knows under a name has to be the same query when it goes on.
                    raise PlanError(f"the name {query.name!r} was used in this run already", hint="add --name another")
                if query.name in run.epochs.failed:
                    raise PlanError(f"query {query.name} failed in this run", hint="add --name another")
                with translated_errors():
                    run.add(*joined(query.name, Path(query.folder), added_statement(query)))
                membership = membership.with_added(query)
                membership.write(checkpoint)  # each by itself: the next one may be refused
                printed.queries += 1

        settings = Settings(trigger, idle, once, sharing)
        requests = Requests(checkpoint, carry_out)
        run = ContinuousRun(
            spark, checkpoint, settings, on_progress=on_progress, on_failure=tell, between=requests.answer_all
        )
        queries = [*((str(s.number), source.folder, s) for s in statements), *added]
        printed.queries = len(queries)
        run.open([joined(*q) for q in queries])
        requests.clear()
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


def added_statement(query: AddedQuery) -> Statement:
    """The query of a script that was added to a run."""
    with errors_of(query.file):
        script = read_script(query.text, query.dialect, bind=query.bind, folder=Path(query.folder))
    return next(s for s in script.queries if s.number == query.number)


def connector(statements: Sequence[Statement], conf: dict[str, str]) -> dict[str, str]:
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
