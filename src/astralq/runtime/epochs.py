"""Epochs: numbered steps over the ingest logs. Each writes its intent, evaluates, commits once, and publishes.

A crash can come at any point. The intent records the offsets and the target watermarks, so that the epoch gives the
same answer when it is run again. Its state and answers count only once its commit is written. What it publishes is
named by its number.
"""

from __future__ import annotations

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from astralq.algebra.answers import answer_columns
from astralq.algebra.sources import RelationSource
from astralq.plan.aggregate.limbs import Range
from astralq.plan.facts import FEW_ROWS, Facts
from astralq.runtime import set_aside
from astralq.runtime.checkpoint.failpoints import failpoint
from astralq.runtime.checkpoint.folders import CheckpointError, Folders
from astralq.runtime.checkpoint.records import CorruptRecordError, Record, newest, numbers, read_record, write_record
from astralq.runtime.checkpoint.tables import InFiles, Part, parts_of
from astralq.runtime.ingest.epoch_input import EpochInput
from astralq.runtime.ingest.log import BatchManifest, IngestLog
from astralq.runtime.ingest.watermark import after_closing
from astralq.runtime.queries import ContinuousQuery, QueryState, check_same, check_state, is_stored
from astralq.runtime.sessions import Sessions
from astralq.runtime.sinks import FileSink, Sink, Staged
from astralq.spark.epoch import Epoch
from astralq.spark.sources.files import read_frame
from astralq.timeline import Instant, instant

SMALL_ANSWER = 200_000
"""An answer of up to so many rows is sorted by one task."""

RETAINED_COMMITS = 3
"""How many commits are retained, with all files that they refer to, in case the newest is damaged."""


@dataclass(frozen=True)
class TargetWatermark:
    """How far an epoch advances a query."""

    until: Instant  # inclusive
    closing: bool = False  # the last epoch of a run: nothing more is waited for


@dataclass(frozen=True)
class Intent:
    """What an epoch is going to do: which batches it reads, and how far it advances each query."""

    epoch: int
    offsets: dict[str, int]  # of each source, its last batch
    targets: dict[str, TargetWatermark]  # of each query that advances

    @staticmethod
    def from_record(record: Record) -> Intent:
        targets = {q: TargetWatermark(Instant(t["until"]), t["closing"]) for q, t in record["targets"].items()}
        return Intent(record["epoch"], record["offsets"], targets)

    @property
    def record(self) -> Record:
        return {"epoch": self.epoch, "offsets": self.offsets, "targets": {q: vars(t) for q, t in self.targets.items()}}


@dataclass(frozen=True)
class EpochResult:
    """One query after an epoch: its new state, and its staged answer."""

    state: QueryState
    answer: Part


@dataclass
class Epochs:
    """Runs the epochs of a run in sequence; holds its queries, their states, and the ingest logs that they read."""

    spark: SparkSession
    folders: Folders
    given: dict[str, DataFrame] = field(default_factory=dict)  # sources that the user gave as DataFrames
    always_compact: bool = False
    queries: dict[str, ContinuousQuery] = field(default_factory=dict)
    query_states: dict[str, QueryState] = field(default_factory=dict)
    ingest_logs: dict[str, IngestLog] = field(default_factory=dict)
    sinks: dict[str, Sink] = field(default_factory=dict)
    epoch: int = 0
    offsets: dict[str, int] = field(default_factory=dict)  # of each source, the last batch that was committed
    counts: dict[str, list[int]] = field(default_factory=dict)  # of each source: rows in, rows rejected
    _last_answers: dict[str, Part] = field(default_factory=dict)
    _fingerprints: dict[str, Record] = field(default_factory=dict)
    _plans: dict[str, str] = field(default_factory=dict)  # of each query, the plan that it started with
    gate: threading.Lock = field(default_factory=threading.Lock)  # on few cores ingest and epochs take turns
    seconds: float = 0.0  # duration of the last epoch

    def __post_init__(self) -> None:
        self.sessions = Sessions(self.spark)

    # Recovery

    def recover(self) -> None:
        """Loads the newest commit whose files are all intact."""
        for epoch, record in newest(self.folders.commits):
            states = {q: QueryState.from_record(s) for q, s in record["query_states"].items()}
            answers = {q: Part.from_record(p) for q, p in record["answers"].items()}
            parts = [p for s in states.values() for p in parts_of(s.tables)]
            if all(p.is_whole(self.folders.root) for p in [*parts, *answers.values()]):
                self.epoch, self.offsets, self.query_states = epoch, record["offsets"], states
                self._fingerprints, self._plans = record["queries"], record["plans"]
                self._last_answers, self.counts = answers, record["counts"]
                return
        if numbers(self.folders.commits):
            raise CheckpointError(
                f"no commit of the checkpoint {self.folders.root} is whole, so that it cannot be gone on with",
                hint="bring its files back, or begin anew with another directory",
            )

    def register(self, query: ContinuousQuery, sink: Sink) -> None:
        """Adds a query to the run; one that the checkpoint knows must not have changed."""
        if query.name in self._fingerprints:
            check_same(query, self._fingerprints[query.name], self.folders.root)
            query = query.planned_as(self._plans[query.name], self.folders.root)
        elif isinstance(sink, FileSink) and sink.has_answers_of(query.name):
            raise CheckpointError(
                f"{sink.folder} has answers of another run, and query {query.name} begins with this checkpoint",
                hint="insert into a folder of its own, or remove those files",
            )
        self.queries[query.name] = query
        self.sinks[query.name] = sink
        self.query_states.setdefault(query.name, QueryState())

    def resume(self) -> None:
        """Publishes the last commit unless that is noted, then runs an epoch that has an intent but no commit."""
        if self.epoch and not self.folders.is_published(self.epoch):
            self._publish(self.epoch, self._last_answers)
        while (path := self.folders.intents / f"{self.epoch + 1}.json").exists():
            try:
                intent = Intent.from_record(read_record(path))
            except CorruptRecordError:  # nothing of its epoch was committed, so another intent can take its place
                path.unlink()
                return
            if any(name in self.ingest_logs and self.ingest_logs[name].last < n for name, n in intent.offsets.items()):
                return
            self.run_epoch(intent)

    # One epoch

    def start_epoch(self, intent: Intent) -> None:
        """Writes an intent down, then runs its epoch."""
        write_record(self.folders.intents / f"{intent.epoch}.json", intent.record)
        failpoint("intent written", intent.epoch)
        self.run_epoch(intent)

    def run_epoch(self, intent: Intent) -> None:
        """Runs an epoch, the first time or again: evaluates, commits, publishes, and removes what is not needed."""
        with self.gate:
            began = time.perf_counter()
            results = self._evaluate_all(intent)
            failpoint("output staged", intent.epoch)
            self._commit(intent, results)
            self._publish(intent.epoch, self._last_answers)
            failpoint("output published", intent.epoch)
            self._remove_old()
            failpoint("old files removed", intent.epoch)
            self.seconds = time.perf_counter() - began

    def _evaluate_all(self, intent: Intent) -> dict[str, EpochResult]:
        """Evaluates the queries that have a target, up to four at a time: while one plans, another computes."""
        targets = {q: target for q, target in intent.targets.items() if q in self.queries}
        if len(targets) < 2:
            return {q: self._evaluate(q, target, intent) for q, target in targets.items()}
        with ThreadPoolExecutor(min(4, len(targets))) as pool:
            results = pool.map(lambda q: self._evaluate(q, targets[q], intent), targets)
            return dict(zip(targets, results, strict=True))

    def _commit(self, intent: Intent, results: dict[str, EpochResult]) -> None:
        """Writes the commit of an epoch; from then on its state and its answers count."""
        states = self.query_states | {q: r.state for q, r in results.items()}
        for name in self.queries.keys() - results.keys():
            late = self._late(name, intent)
            states[name] = replace(states[name], late=states[name].late + late)
        self._fingerprints |= {q: query.fingerprint for q, query in self.queries.items()}
        self._plans = {q: self._plans.get(q, self.queries[q].plan_text if q in self.queries else "") for q in states}
        answers = {q: r.answer for q, r in results.items() if r.answer.rows}
        counts = {name: self._counted(name, intent) for name in intent.offsets}
        record = {
            "offsets": intent.offsets,
            "counts": counts,
            "query_states": {q: s.record for q, s in states.items()},
            "answers": {q: p.record for q, p in answers.items()},
            "queries": self._fingerprints,
            "plans": self._plans,
        }
        write_record(self.folders.commits / f"{intent.epoch}.json", record)
        failpoint("commit written", intent.epoch)
        self.epoch, self.offsets, self.query_states, self.counts = intent.epoch, intent.offsets, states, counts
        self._last_answers = answers

    def _counted(self, source: str, intent: Intent) -> list[int]:
        """How many rows a source has had up to an epoch, and how many of them were rejected."""
        rows, rejected = self.counts.get(source, [0, 0])
        new = self._new_batches(source, intent)
        return [rows + sum(m.rows + m.rejected for m in new), rejected + sum(m.rejected for m in new)]

    def _new_batches(self, source: str, intent: Intent) -> list[BatchManifest]:
        """The batches of a source since the last epoch; none if no query reads the source any more."""
        log = self.ingest_logs.get(source)
        return [] if log is None else log.new(self.offsets.get(source, -1), intent.offsets[source])

    def _evaluate(self, name: str, target: TargetWatermark, intent: Intent) -> EpochResult:
        """Answers one query for one epoch: its answer and its state are in files, and count with the commit."""
        query, before = self.queries[name], self.query_states[name]
        logs = {s.name: self.ingest_logs[s.name] for s in query.coming}
        new = EpochInput(logs, intent.offsets, before.since, target.until)
        released = new.count(self.spark)
        spark = self.sessions.of(released + before.rows)
        late = self._late(name, intent)
        store = InFiles(spark, self.folders, name, intent.epoch, before.tables, self.always_compact)
        epoch = Epoch(
            query.core,
            self._frames(query, new, spark),
            spark,
            store,
            before.metadata,
            query.t0,
            before.since,
            target.until,
            target.closing,
            new_rows=released,
            one_partition=released + before.rows + self._stored_rows(query) <= FEW_ROWS,
            firsts=new.firsts,
            facts=Facts(ranges=self._ranges(query, new)),
        )
        # A guess: as many rows out for each row in as up to now.
        expected = released * before.written / before.released if before.released else released
        plan = epoch.plan(before.written, small=expected <= SMALL_ANSWER)
        assert plan.state is not None
        check_state(query, before, plan.state.kept, self.folders.root)
        answer = self._stage_answer(epoch.answer(plan), self.folders.staged(name, intent.epoch))
        rejected = set_aside.before_start(spark, self.folders, query, new, intent.epoch)
        if any(m.deletions for manifests in new.batches.values() for m in manifests):
            rejected += set_aside.unmatched(self.folders, name, epoch.unmatched(plan), new, intent.epoch)
        metadata = epoch.finish(plan)
        failpoint("state written", intent.epoch)
        after = QueryState(
            since=after_closing(target.until, query.ticks) if target.closing else target.until,
            tables=store.written,
            metadata=metadata,
            written=before.written + answer.rows,
            late=before.late + late,
            released=before.released + released,
            rejected=before.rejected + rejected,
        )
        return EpochResult(after, answer)

    def _frames(self, query: ContinuousQuery, new: EpochInput, spark: SparkSession) -> dict[str, DataFrame]:
        """What a query's plan reads: new rows from the ingest logs, and its stored relations."""
        frames: dict[str, DataFrame] = {}
        for source in query.sources:
            if is_stored(source):
                assert isinstance(source, RelationSource)
                frames[source.name] = self.stored(query, source, spark)
            else:
                frames[source.name] = new.rows(spark, source.name)
        return frames

    def _ranges(self, query: ContinuousQuery, new: EpochInput) -> dict[tuple[str, int], Range]:
        """The ranges of new doubles, from the manifests."""
        return {
            (source.name, source.declared.index(attribute)): range_
            for source in query.coming
            for attribute, range_ in new.ranges(source.name).items()
        }

    def _stored_rows(self, query: ContinuousQuery) -> int:
        """How many rows the stored relations of a query have, from their files; many if they are read anew."""
        rows = 0
        for source in query.sources:
            if is_stored(source):
                if source.name in query.scanned and source.name not in self.given:
                    return FEW_ROWS + 1
                folder = self.folders.stored(query.name, source.name)
                rows += sum(pq.ParquetFile(f).metadata.num_rows for f in folder.glob("part-*"))
        return rows

    def _stage_answer(self, answer: DataFrame | None, folder: Path) -> Part:
        """Writes an answer to a folder; nothing is written if the epoch cannot change the answer."""
        if answer is None:
            return Part(str(folder.relative_to(self.folders.root)), (), 0)
        answer.write.mode("overwrite").parquet(str(folder))
        return Part.of(self.folders.root, folder)

    def stored(self, query: ContinuousQuery, source: RelationSource, spark: SparkSession) -> DataFrame:
        """A stored relation: read again if only SCAN reads it, else as it was when the query started."""
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
        """Sets aside the tuples of new batches that are late for a query, and counts them."""
        since = self.query_states[name].since
        if since is None:
            return 0
        count = 0
        for source in self.queries[name].coming:
            log, new = self.ingest_logs[source.name], self._new_batches(source.name, intent)
            count += set_aside.late(self.spark, self.folders, name, log, new, since, intent.epoch)
        return count

    def _publish(self, epoch: int, answers: dict[str, Part]) -> None:
        """Hands the answers of an epoch to the sinks, and notes it if all of them have one."""
        for name, part in sorted(answers.items()):
            if name in self.sinks:
                columns = answer_columns(self.queries[name].operator)
                self.sinks[name].publish(Staged(self.spark, self.folders.root, name, epoch, part, columns))
        if all(name in self.sinks for name in answers):
            self.folders.set_published(epoch)

    def started_at(self, name: str) -> Instant | None:
        """The start of a query that the checkpoint knows; it may have been chosen by the run."""
        start = self._fingerprints.get(name, {}).get("start")
        return instant(start) if start else None

    def forget(self, name: str) -> None:
        """Removes a query; its state is removed with the next epoch."""
        for known in (self.queries, self.sinks, self.query_states, self._fingerprints, self._plans):
            known.pop(name, None)
        shutil.rmtree(self.folders.stored(name, "x").parent, ignore_errors=True)

    @property
    def unclaimed(self) -> set[str]:
        """Queries of the checkpoint that are not part of this run."""
        return set(self.query_states) - set(self.queries)

    # Cleaning up

    def _remove_old(self) -> None:
        """Removes files that no retained commit refers to."""
        commits = self.folders.commits
        for number in numbers(commits)[:-RETAINED_COMMITS]:
            (commits / f"{number}.json").unlink()
        retained = [record for _, record in newest(commits)]
        oldest = self.epoch - RETAINED_COMMITS + 1
        for number in numbers(self.folders.intents):
            if number < oldest:
                (self.folders.intents / f"{number}.json").unlink()
        used = {
            p["folder"]
            for record in retained
            for s in record["query_states"].values()
            for t in s["tables"].values()
            for p in t["parts"]
        }
        used |= {p["folder"] for record in retained for p in record["answers"].values()}
        root = self.folders.root
        for folder in [*root.glob("state/*/*/*"), *root.glob("out/*/*")]:
            if str(folder.relative_to(root)) not in used:
                shutil.rmtree(folder, ignore_errors=True)
        if len(retained) == RETAINED_COMMITS:
            self._remove_batches(retained[-1])

    def _remove_batches(self, oldest: Record) -> None:
        """Removes batches that all queries had released completely by the oldest retained commit."""
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
