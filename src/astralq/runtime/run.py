"""A continuous run: its queries and sources, the loop that starts epochs, and how far each epoch advances a query."""

from __future__ import annotations

import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from astralq.algebra.base import Kind
from astralq.algebra.sources import NOTHING, RelationSource, SensedSource, Source, StreamSource
from astralq.errors import AstralError, PlanError
from astralq.runtime.checkpoint.folders import Folders
from astralq.runtime.cohorts import Intent, TargetWatermark
from astralq.runtime.epochs import Epochs
from astralq.runtime.ingest.inputs import Input, frame_input, idle_after, on_arrival, open_input
from astralq.runtime.ingest.log import IngestLog, clock
from astralq.runtime.ingest.sensing import sensed_input
from astralq.runtime.ingest.watermark import MAX_WATERMARK, SourceProgress, watermark
from astralq.runtime.latency import Latencies, Latency
from astralq.runtime.progress import QueryProgress, RunProgress
from astralq.runtime.publishing import check_emitter
from astralq.runtime.queries import ContinuousQuery
from astralq.runtime.sinks import Sink
from astralq.spark.batch import last_instants
from astralq.timeline import EPOCH, Duration, Instant, duration, format_instant

SECOND = duration("1 s")

FEW = 4
"""Up to so many cores ingest and epochs take turns: at the same time both would be slower."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run."""

    trigger: Duration = SECOND  # how often it looks for new input
    idle: Duration | None = None  # after so long without tuples a source is idle; None: never
    once: bool = False  # process all available input, then end
    sharing: bool = True  # whether queries compute and keep together what they have in common
    always_compact: bool = False  # for tests


@dataclass
class ContinuousRun:
    """Continuous queries over one checkpoint."""

    spark: SparkSession
    checkpoint: Path
    settings: Settings = field(default_factory=Settings)
    given: dict[str, DataFrame] = field(default_factory=dict)  # DataFrames by the names of sources
    on_progress: Callable[[RunProgress], None] = lambda _: None
    on_failure: Callable[[str, AstralError], None] = lambda *_: None  # a query has stopped, and the others go on
    between: Callable[[], None] = lambda: None  # called between two epochs: requests of other processes

    def __post_init__(self) -> None:
        self.folders = Folders(self.checkpoint.absolute())
        self.epochs = Epochs(self.spark, self.folders, self.given, self.settings.always_compact)
        self.epochs.sharing = self.settings.sharing
        self.epochs.on_failure = self.on_failure
        self.wake = threading.Event()
        self.stopping = threading.Event()
        self.began = clock()
        self.latencies = Latencies(self.began)
        self.last_progress: RunProgress | None = None
        self.failure: BaseException | None = None
        self._heartbeats: dict[str, Instant] = {}
        self._inputs: dict[str, Input] = {}
        self._sources: dict[str, Source] = {}
        self._open = ExitStack()
        self._thread: threading.Thread | None = None
        self._listens = False
        self._steps = threading.RLock()

    # Queries

    def open(self, queries: Sequence[tuple[ContinuousQuery, Sink]], *, only: bool = True) -> None:
        """Locks the checkpoint, recovers from it, adds the queries, and finishes an epoch that was interrupted.

        With `only`, other queries of the checkpoint are removed from it; else they can be added later.
        """
        self._open.enter_context(self.folders.locked())
        try:
            self.epochs.recover()
            for query, sink in queries:
                self.add(query, sink)
            self.epochs.resume()
            for name in self.epochs.unclaimed if only else ():
                self.epochs.forget(name)
            for name in sorted(self.epochs.waiting):
                others = ", ".join(sorted(self.epochs.unclaimed))
                text = (
                    f"query {name} waits for others of this checkpoint with which it keeps state: add {others}, or drop"
                )
                warnings.warn(text, stacklevel=3)
        except BaseException:
            self.close()
            raise

    def add(self, query: ContinuousQuery, sink: Sink) -> None:
        """Adds a query, also to a run that is active, and starts the sources that are new."""
        if query.operator.kind is Kind.WINDOWS:
            raise PlanError("a stream of windows is not an answer", hint="stream it: RSTREAM(…)")
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", query.name):
            raise PlanError(f"{query.name!r} cannot be the name of a query", hint="use letters, digits, _, . and -")
        with self._steps:
            if query.name in self.epochs.failed:
                text = f"it failed before, and has not gone on since: {self.epochs.failed[query.name]}"
                hint = "give it a checkpoint of its own once its data or its text are right"
                self.on_failure(query.name, AstralError(text, hint=hint))
                return
            if query.name in self.epochs.queries:
                raise PlanError(f"there is a query {query.name!r} already", hint="choose another name")
            if self._thread is not None and not self.is_active:
                raise PlanError("the run has ended", hint="start it again, and add the query then")
            known = query.name in self.epochs.query_states
            if known and query.t0 is None:
                query = replace(query, t0=self.epochs.started_at(query.name))
            shared = [self.epochs.query_states[q].since for q in self.epochs.queries if self._share(q, query)]
            released_until = max((s for s in shared if s is not None), default=None)
            if not known and query.t0 is None and released_until is not None:
                # Batches that the others have released may be removed already, so it starts after their watermark.
                query = replace(query, t0=Instant(released_until + 1))
            self._check_sources(query, begins=not known)
            new = {s.name: self._open_log(s, query) for s in query.coming if s.name not in self.epochs.ingest_logs}
            check_emitter(query, self.epochs.queries.values())
            self.epochs.register(query, sink)
            self.epochs.ingest_logs |= new
            self._sources |= {s.name: s for s in query.sources}
            if self._listens:
                for log in new.values():
                    self._listen(log)
        self.wake.set()

    def _check_sources(self, query: ContinuousQuery, *, begins: bool) -> None:
        """Two sources of a run cannot share a name, and a new query cannot start before the oldest retained batch."""
        for source in query.sources:
            if self._sources.get(source.name, source) != source:
                raise PlanError(f"{source.name!r} is another source in this run", hint="choose another name for it")
            log = self.epochs.ingest_logs.get(source.name)
            if begins and log is not None and log.forgotten and query.t0 is not None:
                first = min((m.first for m in list(log.manifests.values()) if m.first is not None), default=None)
                if first is not None and query.t0 < first:
                    raise PlanError(
                        f"of {source.name} there is nothing left before {format_instant(first)}",
                        hint="start at that instant or later, or leave out START AT",
                    )

    def drop(self, name: str) -> None:
        """Drops a query and stops the sources that only it read; its state is removed with the next epoch."""
        with self._steps:
            if name not in self.epochs.query_states:
                raise PlanError(f"there is no query {name!r}", hint=f"there are {', '.join(self.epochs.queries)}")
            self.epochs.forget(name)
            read = {s.name for q in self.epochs.queries.values() for s in q.coming}
            for source in set(self.epochs.ingest_logs) - read:
                log = self.epochs.ingest_logs.pop(source)
                if log.query is not None:
                    log.query.stop()

    def _share(self, name: str, query: ContinuousQuery) -> bool:
        """Whether two queries read a common stream or change log."""
        mine = {s.name for s in query.coming}
        return any(s.name in mine for s in self.epochs.queries[name].coming)

    # Sources

    def _open_log(self, source: Source, query: ContinuousQuery) -> IngestLog:
        """The ingest log of a source, with the batches of earlier runs."""
        made: list[IngestLog] = []

        def last() -> Instant:
            seen = [m.last for m in list(made[0].manifests.values()) if m.last is not None]
            readers = [q for q, known in list(self.epochs.queries.items()) if source in known.coming]
            released = [self.epochs.query_states[q].since for q in readers]
            return max([EPOCH, *seen, *(s for s in released if s is not None)])

        input_ = self._input(source, query, last)
        few = self.spark.sparkContext.defaultParallelism <= FEW
        gate = self.epochs.gate if few else None
        change = source.change if isinstance(source, RelationSource) else None
        log = IngestLog(
            source.name,
            self.folders,
            input_.schema,
            input_.doubles,
            input_.read,
            self.wake,
            gate,
            input_.files,
            change,
            input_.came,
            isinstance(source, StreamSource) and source.progress,
        )
        made.append(log)
        log.load()
        self._inputs[source.name] = input_
        return log

    def _input(self, source: Source, query: ContinuousQuery, last: Callable[[], Instant]) -> Input:
        if source.name in self.given:
            assert not isinstance(source, SensedSource)
            return frame_input(self.spark, source, self.given[source.name])
        if isinstance(source, SensedSource):
            readings = self.folders.readings(source.name)
            return sensed_input(self.spark, source, query.folder, readings, query.t0)
        return open_input(self.spark, source, query.folder, last)

    def _listen(self, log: IngestLog) -> None:
        """Starts the streaming query of a source; one that does not stream is written as batch 0."""
        stream = self._inputs[log.name].stream
        if stream is None:
            if 0 not in log.manifests:
                log.take(self.spark.range(0), 0)
            return
        writer = stream.writeStream.foreachBatch(log.take).option(
            "checkpointLocation", str(self.folders.reader(log.name))
        )
        if self.settings.once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{max(1, self.settings.trigger // 1000)} milliseconds")
        log.query = writer.start()

    # Epochs

    def step(self, *, closing: bool = False) -> bool:
        """Runs an epoch if a query can advance or tuples are late; whether it did."""
        with self._steps:
            for log in self.epochs.ingest_logs.values():
                log.check()
            self.epochs.replay()  # an epoch that has waited for queries
            # What is known of a source is looked at once, so that queries that read the same advance alike.
            now = clock()
            progress = {s.name: self._progress(s) for q in self.epochs.queries.values() for s in q.coming}
            ready = self.epochs.queries.keys() - self.epochs.waiting
            targets = {
                q: target
                for q in self.epochs.queries
                if q in ready and (target := self._target(q, closing, progress, now)) is not None
            }
            # Read after the targets: batches that came in between are included, so no target is ahead of the offsets.
            offsets = self.epochs.offsets | {name: s.last for name, s in self.epochs.ingest_logs.items()}
            if not targets and not self._late(offsets):
                return False
            self.epochs.start_epoch(Intent(self.epochs.epoch + 1, offsets, targets))
            self._report()
            return True

    def _target(
        self, name: str, closing: bool, progress: Mapping[str, SourceProgress], now: Instant
    ) -> TargetWatermark | None:
        """How far a query can advance; None if it cannot."""
        query, since = self.epochs.queries[name], self.epochs.query_states[name].since
        if closing:
            return TargetWatermark(self._last_instant(query, since), closing=True)
        sources = [progress[s.name] for s in query.coming]
        marks = [p.watermark(now, self.began) for p in sources]
        if all(m == MAX_WATERMARK for m in marks):
            # Only change logs that were read to their end, and idle sources without a tuple: the change logs decide.
            marks = [replace(p, waits=True).watermark(now, self.began) for p in sources]
        until = watermark(marks, since, query.ticks)
        if until is None or until == since or (query.t0 is not None and until < query.t0):
            return None
        return TargetWatermark(until)

    def _progress(self, source: Source) -> SourceProgress:
        """What is known of a source now."""
        log = self.epochs.ingest_logs[source.name]
        # Read before the manifests: a batch that is being written has timestamps before now, and no manifest yet.
        now, taking = clock(), log.taking
        manifests = [m for m in list(log.manifests.values()) if m.last is not None]
        greatest = max((m.last for m in manifests if m.last is not None), default=None)
        arrived = max((m.arrived for m in manifests), default=None)
        lateness = source.lateness if isinstance(source, StreamSource) else NOTHING
        waits = not (isinstance(source, RelationSource) and log.caught_up)
        heartbeat = self._heartbeat(log)
        if on_arrival(source) and greatest is not None and not taking:
            heartbeat = Instant(now - 1)
        idle = idle_after(source, None if isinstance(source, SensedSource) else self.settings.idle)
        if not log.caught_up:
            arrived = clock()  # input is on its way, so the source is not idle
        return SourceProgress(greatest, arrived, lateness, idle, waits, heartbeat)

    def _heartbeat(self, log: IngestLog) -> Instant | None:
        """Up to where a source has said that it has no more tuples: in its rows, or by a handle."""
        found = [Instant(m.heartbeat) for m in list(log.manifests.values()) if m.heartbeat is not None]
        promised = self._heartbeats.get(log.name)
        return max([*found, *([] if promised is None else [promised])], default=None)

    def _last_instant(self, query: ContinuousQuery, since: Instant | None) -> Instant:
        """The greatest timestamp of any source, where a batch run would end."""
        t0 = EPOCH if query.t0 is None else query.t0
        instants = [t0, *([] if since is None else [since])]
        for source in query.coming:
            manifests = list(self.epochs.ingest_logs[source.name].manifests.values())
            instants += [m.last for m in manifests if m.last is not None]
            instants += [Instant(m.heartbeat) for m in manifests if m.heartbeat is not None]
        stored = [s for s in query.sources if isinstance(s, RelationSource) and s.valid_from is not None]
        if stored:
            frames = {s.name: self.epochs.stored(query, s, self.spark) for s in stored}
            instants += last_instants(stored, frames, t0)
        return max(instants)

    def _late(self, offsets: dict[str, int]) -> bool:
        """Whether new batches have late tuples for some query."""
        for name, query in self.epochs.queries.items():
            since = self.epochs.query_states[name].since
            for source in query.coming:
                log = self.epochs.ingest_logs[source.name]
                new = log.new(self.epochs.offsets.get(source.name, -1), offsets[source.name])
                if since is not None and any(m.first is not None and m.first <= since for m in new):
                    return True
        return False

    def heartbeat(self, source: str, t: Instant) -> None:
        """Promises that a source has no more tuples at or before an instant."""
        self._heartbeats[source] = max(t, self._heartbeats.get(source, t))
        self.wake.set()

    # The loop

    def listen(self) -> None:
        """Starts the streaming queries of all sources."""
        self.began = clock()
        self.latencies = Latencies(self.began)
        self._listens = True
        for log in self.epochs.ingest_logs.values():
            self._listen(log)

    def work(self) -> None:
        """Runs epochs until it is stopped, or with `once` until all available input has been processed."""
        if self.settings.once:
            for log in list(self.epochs.ingest_logs.values()):
                if log.query is not None:
                    try:
                        while not log.query.awaitTermination(1):
                            if self.stopping.is_set():
                                return
                    except StreamingQueryException:
                        log.check()
                        raise
            self.step(closing=True)
            return
        pause = self.settings.trigger / 1e6
        while not self.stopping.is_set():
            self.wake.wait(pause)
            self.wake.clear()
            if self.stopping.is_set():
                break
            self.between()
            self.step()

    def start(self) -> None:
        """Runs in a background thread."""
        try:
            self.listen()
        except BaseException:
            self.close()
            raise
        self._thread = threading.Thread(target=self._guarded, name="astralq", daemon=True)
        self._thread.start()

    def _guarded(self) -> None:
        try:
            self.work()
        except BaseException as e:
            self.failure = e
        finally:
            self.close()

    def join(self, timeout: float | None) -> bool:
        """Waits until it has ended, at most `timeout` seconds; False if it has not. Raises the error that ended it."""
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                return False
        if self.failure is not None:
            raise self.failure if isinstance(self.failure, AstralError) else AstralError(str(self.failure))
        return True

    @property
    def is_active(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def ask_to_stop(self) -> None:
        """Asks it to end after the current epoch, and does not wait."""
        self.stopping.set()
        self.wake.set()

    def stop(self) -> None:
        """Ends it after the current epoch, and waits for that."""
        self.ask_to_stop()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def close(self) -> None:
        """Stops all sources and unlocks the checkpoint."""
        for log in self.epochs.ingest_logs.values():
            if log.query is not None and log.query.isActive:
                log.query.stop()
        self._open.close()

    def _report(self) -> None:
        """Hands the progress after an epoch to `on_progress`."""
        epochs = self.epochs
        states = {q: s for q, s in epochs.query_states.items() if q in epochs.queries}
        queries = tuple(
            QueryProgress(q, s.since, s.released, s.late, s.written, *epochs.kept.size(s.tables), s.rejected)
            for q, s in states.items()
        )
        users = Counter(name for s in states.values() for name in s.tables)
        shared = epochs.kept.size([name for name, count in users.items() if count > 1])
        newest = [m.last for s in epochs.ingest_logs.values() for m in list(s.manifests.values()) if m.last is not None]
        rows, rejected = (sum(c[k] for c in epochs.counts.values()) for k in (0, 1))
        self._note_latencies()
        self.last_progress = RunProgress(
            epochs.epoch,
            rows,
            rejected,
            max(newest, default=None),
            epochs.seconds,
            queries,
            *shared,
            tuple(epochs.failed.items()),
            Latency.of(self.latencies.last),
        )
        self.on_progress(self.last_progress)

    def _note_latencies(self) -> None:
        now = clock()
        for name, log in self.epochs.ingest_logs.items():
            readers = [q for q, known in self.epochs.queries.items() if any(s.name == name for s in known.coming)]
            marks = [self.epochs.query_states[q].since for q in readers if q in self.epochs.query_states]
            answered = None if None in marks else min((m for m in marks if m is not None), default=None)
            self.latencies.note(name, dict(log.manifests), answered, now)
