"""Epochs: numbered steps over the ingest logs, each with an intent, an evaluation, one commit, and publishing.

A step can be stopped anywhere. What it takes in and up to where is written down first, so that it gives the same answer
when it is done again; nothing of it counts before its commit is there; what is published is named by its number.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from astralq.algebra.answers import answer_columns
from astralq.algebra.sources import RelationSource
from astralq.runtime import set_aside
from astralq.runtime.checkpoint.failpoints import failpoint
from astralq.runtime.checkpoint.folders import CheckpointError, Folders
from astralq.runtime.checkpoint.records import CorruptRecordError, Record, newest, numbers, read_record, write_record
from astralq.runtime.checkpoint.tables import InFiles, Part, parts_of
from astralq.runtime.ingest.log import BatchManifest, IngestLog
from astralq.runtime.ingest.watermark import after_closing
from astralq.runtime.queries import ContinuousQuery, QueryState, check_same, is_stored
from astralq.runtime.sessions import Sessions
from astralq.runtime.sinks import FileSink, Sink, Staged
from astralq.spark.aggregate.exact import Range
from astralq.spark.answers import numbered_history
from astralq.spark.context import Run
from astralq.spark.sources.files import read_frame
from astralq.spark.sources.received import Sources
from astralq.timeline import Instant, instant

SMALL = 200_000
"""Up to how many rows an epoch's answer is sorted by one task."""

KEPT = 3
"""How many commits are kept, with all that they refer to: the newest can be damaged."""


@dataclass(frozen=True)
class TargetWatermark:
    """What an epoch is to do for a query: go on to an instant, inclusive; closing, nothing comes after it."""

    until: Instant
    closing: bool = False


@dataclass(frozen=True)
class Intent:
    """What an epoch takes in, the last batch of each source, and up to where each query goes."""

    epoch: int
    offsets: dict[str, int]
    targets: dict[str, TargetWatermark]

    @staticmethod
    def from_record(record: Record) -> Intent:
        targets = {q: TargetWatermark(Instant(t["until"]), t["closing"]) for q, t in record["targets"].items()}
        return Intent(record["epoch"], record["offsets"], targets)

    @property
    def record(self) -> Record:
        return {"epoch": self.epoch, "offsets": self.offsets, "targets": {q: vars(t) for q, t in self.targets.items()}}


@dataclass(frozen=True)
class EpochResult:
    """What an epoch made of a query."""

    state: QueryState
    answer: Part


@dataclass
class Epochs:
    """All epochs of a run, one behind the other; its queries, where they stand, and their ingest logs."""

    spark: SparkSession
    folders: Folders
    given: dict[str, DataFrame] = field(default_factory=dict)  # stored relations that are DataFrames
    always_trim: bool = False
    queries: dict[str, ContinuousQuery] = field(default_factory=dict)
    query_states: dict[str, QueryState] = field(default_factory=dict)
    ingest_logs: dict[str, IngestLog] = field(default_factory=dict)
    sinks: dict[str, Sink] = field(default_factory=dict)
    epoch: int = 0
    offsets: dict[str, int] = field(default_factory=dict)
    counts: dict[str, list[int]] = field(default_factory=dict)  # of each source, rows that came and were rejected
    _last_answers: dict[str, Part] = field(default_factory=dict)
    _fingerprints: dict[str, Record] = field(default_factory=dict)
    gate: threading.Lock = field(default_factory=threading.Lock)  # where there are few cores, one job at a time

    seconds: float = 0.0  # that the last epoch took

    def __post_init__(self) -> None:
        self.sessions = Sessions(self.spark)

    # Recovery

    def recover(self) -> None:
        """Goes back to the newest commit that is whole; what it published is published again."""
        for epoch, record in newest(self.folders.commits):
            states = {q: QueryState.from_record(s) for q, s in record["query_states"].items()}
            answers = {q: Part.from_record(p) for q, p in record["answers"].items()}
            parts = [p for s in states.values() for p in parts_of(s.tables)]
            if all(p.is_whole(self.folders.root) for p in [*parts, *answers.values()]):
                self.epoch, self.offsets, self.query_states = epoch, record["offsets"], states
                self._fingerprints = record["queries"]
                self._last_answers, self.counts = answers, record["counts"]
                return
        if numbers(self.folders.commits):
            raise CheckpointError(
                f"no commit of the checkpoint {self.folders.root} is whole, so that it cannot be gone on with",
                hint="bring its files back, or begin anew with another directory",
            )

    def register(self, query: ContinuousQuery, sink: Sink) -> None:
        """A query of the run; one that the checkpoint knows must be the same as it was."""
        if query.name in self._fingerprints:
            check_same(query, self._fingerprints[query.name], self.folders.root)
        elif isinstance(sink, FileSink) and sink.has_answers_of(query.name):
            raise CheckpointError(
                f"{sink.folder} has answers of another run, and query {query.name} begins with this checkpoint",
                hint="insert into a folder of its own, or remove those files",
            )
        self.queries[query.name] = query
        self.sinks[query.name] = sink
        self.query_states.setdefault(query.name, QueryState())

    def resume(self) -> None:
        """Publishes the last commit unless that has been done, and does again what was begun after it."""
        if self.epoch and not self.folders.is_published(self.epoch):
            self._publish(self.epoch, self._last_answers)
        while (path := self.folders.intents / f"{self.epoch + 1}.json").exists():
            try:
                intent = Intent.from_record(read_record(path))
            except CorruptRecordError:  # it was never whole, so nothing was done for it
                path.unlink()
                return
            if any(name in self.ingest_logs and self.ingest_logs[name].last < n for name, n in intent.offsets.items()):
                return
            self.do(intent)

    # One step

    def do(self, intent: Intent) -> None:
        """Does an epoch, the first time or again."""
        with self.gate:
            began = time.perf_counter()
            targets = {q: target for q, target in intent.targets.items() if q in self.queries}
            results = dict(
                zip(targets, self._all(lambda q: self._evaluate(q, targets[q], intent), targets), strict=True)
            )
            failpoint("output staged", intent.epoch)
            states = self.query_states | {q: r.state for q, r in results.items()}
            for name in self.queries.keys() - targets.keys():
                late = self._late(name, intent)
                states[name] = replace(states[name], late=states[name].late + late)
            self._fingerprints |= {q: query.fingerprint for q, query in self.queries.items()}
            answers = {q: r.answer for q, r in results.items() if r.answer.rows}
            counts = {name: self._counted(name, intent) for name in intent.offsets}
            record = {
                "offsets": intent.offsets,
                "counts": counts,
                "query_states": {q: s.record for q, s in states.items()},
                "answers": {q: p.record for q, p in answers.items()},
                "queries": self._fingerprints,
            }
            write_record(self.folders.commits / f"{intent.epoch}.json", record)
            failpoint("commit written", intent.epoch)
            self.epoch, self.offsets, self.query_states, self.counts = intent.epoch, intent.offsets, states, counts
            self._last_answers = answers
            self._publish(intent.epoch, answers)
            failpoint("output published", intent.epoch)
            self._remove_old()
            failpoint("old files removed", intent.epoch)
            self.seconds = time.perf_counter() - began

    def _counted(self, source: str, intent: Intent) -> list[int]:
        """How many rows of a source have come up to an epoch, and how many of them were rejected."""
        rows, rejected = self.counts.get(source, [0, 0])
        new = (
            self.ingest_logs[source].new(self.offsets.get(source, -1), intent.offsets[source])
            if source in self.ingest_logs
            else []
        )
        return [rows + sum(m.rows + m.rejected for m in new), rejected + sum(m.rejected for m in new)]

    def intend(self, intent: Intent) -> None:
        """Writes an intent down, then does it."""
        write_record(self.folders.intents / f"{intent.epoch}.json", intent.record)
        failpoint("intent written", intent.epoch)
        self.do(intent)

    def _all(self, f: Callable[[str], EpochResult], names: Iterable[str]) -> list[EpochResult]:
        """For all queries, some at a time: while one plans, another computes."""
        names = list(names)
        if len(names) < 2:
            return [f(name) for name in names]
        with ThreadPoolExecutor(min(4, len(names))) as pool:
            return list(pool.map(f, names))

    def _evaluate(self, name: str, target: TargetWatermark, intent: Intent) -> EpochResult:
        query, state = self.queries[name], self.query_states[name]
        folders, since = self.folders, state.since
        batches_of = {
            s.name: self.ingest_logs[s.name].holding(state.since, target.until, intent.offsets[s.name])
            for s in query.coming
        }
        released = sum(
            self.ingest_logs[s.name].count(self.spark, state.since, target.until, intent.offsets[s.name])
            for s in query.coming
        )
        spark = self.sessions.of(released + state.rows)
        late = self._late(name, intent)
        memory = InFiles(spark, folders, name, intent.epoch, state.tables, self.always_trim, facts=state.facts)
        frames: dict[str, DataFrame] = {}
        ranges: dict[tuple[str, int], Range] = {}
        for source in query.sources:
            if is_stored(source):
                assert isinstance(source, RelationSource)
                frames[source.name] = self.stored(query, source, spark)
                continue
            log, upto = self.ingest_logs[source.name], intent.offsets[source.name]
            frames[source.name] = log.between(spark, state.since, target.until, upto)
            for attribute in log.doubles:
                found = Range(0, 0.0, 0, False)
                for m in batches_of[source.name]:
                    found = found.with_(m.ranges[attribute])
                ranges[source.name, source.declared.index(attribute)] = found
        firsts = {name: min(m.first for m in held if m.first is not None) for name, held in batches_of.items() if held}
        run = Run(
            query.operator,
            Sources(frames, ranges=ranges, firsts=firsts),
            query.t0,
            target.until,
            since=state.since,
            memory=memory,
            closing=target.closing,
            new_rows=released,
        )
        staged = folders.staged(name, intent.epoch)
        # An answer is expected to be to its input what it was up to now.
        expected = released * state.written / state.released if state.released else released
        answer = numbered_history(run, state.written, small=expected <= SMALL)
        part = Part(str(staged.relative_to(folders.root)), (), 0)
        if answer is not None:
            answer.write.mode("overwrite").parquet(str(staged))
            part = Part.of(folders.root, staged)

        def rows_of(source: str, batches: Sequence[BatchManifest]) -> DataFrame:
            return self.ingest_logs[source].between(spark, since, target.until, intent.offsets[source], batches)

        rejected = set_aside.before_start(query, batches_of, rows_of, folders, intent.epoch)
        rejected += set_aside.unmatched(folders, name, memory, batches_of, intent.epoch)
        tables, facts = memory.finish()
        failpoint("state written", intent.epoch)
        answered = after_closing(target.until, query.ticks) if target.closing else target.until
        state = QueryState(
            answered,
            tables,
            facts,
            state.written + part.rows,
            state.late + late,
            state.released + released,
            state.rejected + rejected,
        )
        return EpochResult(state, part)

    def stored(self, query: ContinuousQuery, source: RelationSource, spark: SparkSession) -> DataFrame:
        """A stored relation: as it is now if it is scanned, else as it was when the query began."""
        if source.name in query.scanned and source.name not in self.given:
            return read_frame(spark, source, query.folder)
        path = self.folders.stored(query.name, source.name)
        done = path.with_name(f"{source.name}.json")
        if not done.exists():
            given = self.given.get(source.name)
            rows = read_frame(spark, source, query.folder) if given is None else given
            rows.write.mode("overwrite").parquet(str(path))
            write_record(done, {})
        return spark.read.parquet(str(path))

    def _late(self, name: str, intent: Intent) -> int:
        """Sets aside what came too late for a query in the batches of an epoch; how many tuples that were."""
        since = self.query_states[name].since
        if since is None:
            return 0
        count = 0
        for source in self.queries[name].coming:
            log = self.ingest_logs[source.name]
            new = log.new(self.offsets.get(source.name, -1), intent.offsets[source.name])
            count += set_aside.late(self.spark, self.folders, name, log, new, since, intent.epoch)
        return count

    def _publish(self, epoch: int, answers: dict[str, Part]) -> None:
        for name, part in sorted(answers.items()):
            if name in self.sinks:
                columns = answer_columns(self.queries[name].operator)
                self.sinks[name].publish(Staged(self.spark, self.folders.root, name, epoch, part, columns))
        if all(name in self.sinks for name in answers):
            self.folders.set_published(epoch)

    def started_at(self, name: str) -> Instant | None:
        """The start of a query that the checkpoint knows, which need not have been given."""
        start = self._fingerprints.get(name, {}).get("start")
        return instant(start) if start else None

    def forget(self, name: str) -> None:
        """Leaves a query; what it kept is removed with the next epoch."""
        for known in (self.queries, self.sinks, self.query_states, self._fingerprints):
            known.pop(name, None)
        shutil.rmtree(self.folders.stored(name, "x").parent, ignore_errors=True)

    @property
    def unclaimed(self) -> set[str]:
        """Queries that the checkpoint knows and that nobody has asked for in this run."""
        return set(self.query_states) - set(self.queries)

    # What nobody needs any more

    def _remove_old(self) -> None:
        """Removes what no kept commit refers to."""
        commits = self.folders.commits
        for number in numbers(commits)[:-KEPT]:
            (commits / f"{number}.json").unlink()
        kept = [record for _, record in newest(commits)]
        oldest = self.epoch - KEPT + 1
        for number in numbers(self.folders.intents):
            if number < oldest:
                (self.folders.intents / f"{number}.json").unlink()
        used = {
            p["folder"]
            for record in kept
            for s in record["query_states"].values()
            for t in s["tables"].values()
            for p in t["parts"]
        }
        used |= {p["folder"] for record in kept for p in record["answers"].values()}
        root = self.folders.root
        for folder in [*root.glob("state/*/*/*"), *root.glob("out/*/*")]:
            if str(folder.relative_to(root)) not in used:
                shutil.rmtree(folder, ignore_errors=True)
        if len(kept) == KEPT:
            self._forget_batches(kept[-1])

    def _forget_batches(self, oldest: Record) -> None:
        """Removes batches that even the oldest kept commit has released as a whole, for all queries."""
        for name, log in self.ingest_logs.items():
            readers = [q for q, query in self.queries.items() if any(s.name == name for s in query.coming)]
            readers += self.unclaimed
            sinces = [oldest["query_states"].get(q, {}).get("since") for q in readers]
            if not sinces or None in sinces:
                continue
            released_until = min(sinces)
            log.forget(
                [
                    m.batch
                    for m in list(log.manifests.values())
                    if m.batch <= oldest["offsets"].get(name, -1)
                    and m.batch < log.last
                    and (m.last is None or m.last <= released_until)
                ]
            )
