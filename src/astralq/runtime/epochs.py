"""Epochs: numbered steps over the ingest logs. Each writes its intent, evaluates, commits once, and publishes.

A crash can come at any point. The intent records the offsets and the target watermarks, so that the epoch gives the
same answer when it is run again. Its state and answers count only once its commit is written. What it publishes is
named by its number.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from astralq.algebra.sources import RelationSource
from astralq.errors import AstralError, EngineError, EvaluationError
from astralq.plan.aggregate.limbs import Range
from astralq.plan.facts import Facts
from astralq.plan.state.store import scope_of, subject
from astralq.runtime import set_aside
from astralq.runtime.checkpoint.cleaning import remove_old
from astralq.runtime.checkpoint.failpoints import failpoint
from astralq.runtime.checkpoint.folders import CheckpointError, Folders
from astralq.runtime.checkpoint.records import CorruptRecordError, Record, newest, numbers, read_record, write_record
from astralq.runtime.checkpoint.tables import InFiles, Part, parts_of
from astralq.runtime.cohorts import Cohort, Intent, cohorts_of, common_namespace, may_join, with_shared_plans
from astralq.runtime.ingest.epoch_input import EpochInput
from astralq.runtime.ingest.log import BatchManifest, IngestLog
from astralq.runtime.ingest.watermark import after_closing
from astralq.runtime.publishing import progress_of, publish
from astralq.runtime.queries import ContinuousQuery, QueryState, RunState, check_same, check_state, is_stored
from astralq.runtime.sessions import Sessions
from astralq.runtime.sinks import FileSink, Sink
from astralq.runtime.staging import blamed, stage
from astralq.spark.epoch import Epoch, EpochQuery
from astralq.spark.error_translation import translated_errors
from astralq.spark.sources.files import read_frame
from astralq.timeline import Instant, instant

FEW = 100_000
"""Up to how many rows an epoch is computed in one partition: most of its time goes into starting jobs."""

SMALL_ANSWER = 200_000
"""An answer of up to so many rows is sorted by one task."""

RETAINED_COMMITS = 3
"""How many commits are retained, with all files that they refer to, in case the newest is damaged."""


@dataclass
class EpochResults:
    """What an epoch has made: queries with their states and staged answers, those that failed, and what is kept."""

    states: dict[str, QueryState] = field(default_factory=dict)
    answers: dict[str, Part] = field(default_factory=dict)
    failures: dict[str, AstralError] = field(default_factory=dict)
    kept: RunState = field(default_factory=RunState)


@dataclass
class Epochs:
    """Runs the epochs of a run in sequence; holds its queries, their states, and the ingest logs that they read."""

    spark: SparkSession
    folders: Folders
    given: dict[str, DataFrame] = field(default_factory=dict)  # sources that the user gave as DataFrames
    always_compact: bool = False
    queries: dict[str, ContinuousQuery] = field(default_factory=dict)
    query_states: dict[str, QueryState] = field(default_factory=dict)
    kept: RunState = field(default_factory=RunState)  # what the queries keep, some of it together
    failed: dict[str, str] = field(default_factory=dict)  # queries that have stopped, and why
    on_failure: Callable[[str, AstralError], None] = lambda *_: None
    sharing: bool = True
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
        self._storing = threading.Lock()

    # Recovery

    def recover(self) -> None:
        """Loads the newest commit whose files are all intact."""
        for epoch, record in newest(self.folders.commits):
            states = {q: QueryState.from_record(s) for q, s in record["query_states"].items()}
            answers = {q: Part.from_record(p) for q, p in record["answers"].items()}
            kept = RunState.from_record(record["state"])
            if all(p.is_whole(self.folders.root) for p in [*parts_of(kept.tables), *answers.values()]):
                self.epoch, self.offsets, self.query_states = epoch, record["offsets"], states
                self.kept, self.failed = kept, record["failed"]
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
            query = query.planned_as(self._plans.get(query.name, ""), self.folders.root)
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
        self.replay()

    def replay(self) -> None:
        """Runs an epoch that has an intent but no commit, once all queries are there that keep state together."""
        while not self.waiting and (path := self.folders.intents / f"{self.epoch + 1}.json").exists():
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

    def _evaluate_all(self, intent: Intent) -> EpochResults:
        """Evaluates the queries that have a target; those that read the same are evaluated together, and up to four
        cohorts at a time: while one plans, another computes."""
        targets = {q: t for q, t in intent.targets.items() if q in self.queries}
        namespaces = {q: self._namespace(q) for q in targets}
        cohorts = cohorts_of(targets, self.query_states, namespaces)
        if len(cohorts) < 2:
            found = [self._evaluate(c, intent) for c in cohorts]
        else:
            with ThreadPoolExecutor(min(4, len(cohorts))) as pool:
                found = list(pool.map(lambda c: self._evaluate(c, intent), cohorts))
        results = EpochResults()
        for one in found:
            results.states |= one.states
            results.answers |= one.answers
            results.failures |= one.failures
            results.kept.tables.update(one.kept.tables)
            results.kept.metadata.update(one.kept.metadata)
        if results.failures and not set(self.queries) - set(results.failures):
            name, error = next(iter(results.failures.items()))  # nobody is left who could go on
            raise (
                error if len(results.failures) == 1 else type(error)(f"query {name}: {error.message}", hint=error.hint)
            )
        return results

    def _namespace(self, name: str) -> str:
        """What the state of a query is named by besides its operators and its start. It is that of others that advance
        with it, unless it begins where these have been already."""
        query, before = self.queries[name], self.query_states[name]
        if before.namespace:
            return before.namespace
        common = common_namespace(query, self.began(name))
        running = [s.since for q, s in self.query_states.items() if q in self.queries and s.namespace == common]
        since = [s for s in running if s is not None]
        begun = f"since {scope_of(query.core, query.t0, common)}" in self.kept.metadata
        together = self.sharing and not begun and (not since or may_join(query, since))
        return common if together else f"{common} {name}@{self.epoch}"

    def began(self, name: str) -> int:
        """The number of the epoch in which a query began, or will begin."""
        return self.query_states[name].began or self.epoch + 1

    def _commit(self, intent: Intent, results: EpochResults) -> None:
        """Writes the commit of an epoch; from then on its state and its answers count."""
        for name, error in results.failures.items():
            self.failed[name] = str(error)
            self.queries.pop(name)
        states = self.query_states | results.states
        for name in self.queries.keys() - results.states.keys():
            late = self._late(name, intent)
            states[name] = replace(states[name], late=states[name].late + late)
        self._fingerprints |= {q: query.fingerprint for q, query in self.queries.items()}
        begun = [q for q, s in states.items() if s.began]
        self._plans = {q: self._plans.get(q, self.queries[q].plan_text if q in self.queries else "") for q in begun}
        answers = {q: part for q, part in results.answers.items() if part.rows}
        counts = {name: self._counted(name, intent) for name in intent.offsets}
        # Tables stay as long as a query uses them, whoever made them.
        used = {name for q, s in states.items() if q not in self.failed for name in s.tables}
        tables = {n: t for n, t in (self.kept.tables | results.kept.tables).items() if n in used}
        metadata = {n: v for n, v in (self.kept.metadata | results.kept.metadata).items() if subject(n) in used}
        kept = RunState(tables, metadata)
        record = {
            "offsets": intent.offsets,
            "counts": counts,
            "query_states": {q: s.record for q, s in states.items()},
            "state": kept.record,
            "failed": self.failed,
            "answers": {q: p.record for q, p in answers.items()},
            "queries": self._fingerprints,
            "plans": self._plans,
        }
        write_record(self.folders.commits / f"{intent.epoch}.json", record)
        failpoint("commit written", intent.epoch)
        self.epoch, self.offsets, self.query_states, self.counts = intent.epoch, intent.offsets, states, counts
        self.kept, self._last_answers = kept, answers
        for name, error in results.failures.items():
            self.on_failure(name, error)

    def _counted(self, source: str, intent: Intent) -> list[int]:
        """How many rows a source has had up to an epoch, and how many of them were rejected."""
        rows, rejected = self.counts.get(source, [0, 0])
        new = self._new_batches(source, intent)
        return [rows + sum(m.rows + m.rejected for m in new), rejected + sum(m.rejected for m in new)]

    def _new_batches(self, source: str, intent: Intent) -> list[BatchManifest]:
        """The batches of a source since the last epoch; none if no query reads the source any more."""
        log = self.ingest_logs.get(source)
        return [] if log is None else log.new(self.offsets.get(source, -1), intent.offsets[source])

    def _evaluate(self, cohort: Cohort, intent: Intent) -> EpochResults:
        """Answers the queries of a cohort for one epoch: their answers and their state are in files, and count with the
        commit. A query that fails does so alone."""
        self.queries |= with_shared_plans(cohort, self.queries, self.query_states)
        queries = {q: self.queries[q] for q in cohort.names}
        first = next(iter(queries.values()))
        logs = {s.name: self.ingest_logs[s.name] for s in first.coming}
        new = EpochInput(logs, intent.offsets, cohort.since, cohort.target.until)
        released = new.count(self.spark)
        tables = self.kept.of({t for q in queries for t in self.query_states[q].tables})
        rows = released + sum(t.rows_read(cohort.since, cohort.target.until) for t in tables.values())
        spark = self.sessions.of(rows)
        late = {q: self._late(q, intent) for q in queries}
        stored = sum(self._stored_rows(q) for q in queries.values())
        store = InFiles(spark, self.folders, intent.epoch, self.kept.tables, self.always_compact)
        asked = {q: self._asked(q, released, cohort.namespace) for q in queries}
        epoch = Epoch(
            list(asked.values()),
            self._frames(queries.values(), new, spark),
            spark,
            store,
            self.kept.metadata,
            cohort.target.until,
            cohort.target.closing,
            new_rows=released,
            one_partition=rows + stored <= FEW,
            firsts=new.firsts,
            first_heartbeats=new.first_heartbeats,
            facts=Facts(ranges=self._ranges(first, new)),
        )
        try:
            with translated_errors():
                plans = dict(zip(queries, epoch.plan(), strict=True))
        except EngineError:
            raise
        except EvaluationError as e:
            return self._without(blamed(epoch, asked, e), cohort, intent)
        for q, query in queries.items():
            check_state(query, self.query_states[q], self.kept.tables, asked[q].tables, self.folders.root)
        staged = stage(epoch, plans, self.folders, intent.epoch, rows)
        if staged.failures:
            return self._without(staged.failures, cohort, intent)
        results = EpochResults(answers=staged.answers)
        rejected = {
            q: set_aside.before_start(spark, self.folders, query, new, intent.epoch) for q, query in queries.items()
        }
        if any(m.deletions for manifests in new.batches.values() for m in manifests):
            for q in queries:
                rejected[q] += set_aside.unmatched(self.folders, q, epoch.unmatched(), new, intent.epoch)
        results.kept.metadata.update(epoch.finish())
        results.kept.tables.update(store.written)
        failpoint("state written", intent.epoch)
        until, closing = cohort.target.until, cohort.target.closing
        for q, query in queries.items():
            before = self.query_states[q]
            results.states[q] = QueryState(
                since=after_closing(until, query.ticks) if closing else until,
                began=self.began(q),
                namespace=asked[q].namespace,
                tables=tuple(sorted(asked[q].tables)),
                written=before.written + staged.answers[q].rows,
                late=before.late + late[q],
                released=before.released + released,
                rejected=before.rejected + rejected[q],
            )
        return results

    def _without(self, failures: Mapping[str, AstralError], cohort: Cohort, intent: Intent) -> EpochResults:
        """The epoch again without the queries that failed in it."""
        left = tuple(q for q in cohort.names if q not in failures)
        results = self._evaluate(replace(cohort, names=left), intent) if left else EpochResults()
        results.failures |= failures
        return results

    def _asked(self, name: str, released: int, namespace: str) -> EpochQuery:
        """What a query asks of an epoch that has so many new rows."""
        query, before = self.queries[name], self.query_states[name]
        # A guess: as many rows out for each row in as up to now.
        expected = released * before.written / before.released if before.released else released
        return EpochQuery(query.core, query.t0, before.since, before.written, namespace, expected <= SMALL_ANSWER)

    def _frames(self, queries: Iterable[ContinuousQuery], new: EpochInput, spark: SparkSession) -> dict[str, DataFrame]:
        """What the plans of queries read: new rows from the ingest logs, and stored relations."""
        frames: dict[str, DataFrame] = {}
        for query, source in ((q, s) for q in queries for s in q.sources):
            if source.name in frames:
                continue
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
                    return FEW + 1
                folder = self.folders.stored(self.began(query.name), source.name)
                rows += sum(pq.ParquetFile(f).metadata.num_rows for f in folder.glob("part-*"))
        return rows

    def stored(self, query: ContinuousQuery, source: RelationSource, spark: SparkSession) -> DataFrame:
        """A stored relation: read again if only SCAN reads it, else as it was when the query started."""
        if source.name in query.scanned and source.name not in self.given:
            return read_frame(spark, source, query.folder)
        with self._storing:
            return self._stored(query, source, spark)

    def _stored(self, query: ContinuousQuery, source: RelationSource, spark: SparkSession) -> DataFrame:
        path = self.folders.stored(self.began(query.name), source.name)
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
        progress = progress_of(self.queries, self.query_states, self.kept.metadata)
        if publish(self.spark, self.folders.root, epoch, self.queries, self.sinks, answers, progress):
            self.folders.set_published(epoch)

    def started_at(self, name: str) -> Instant | None:
        """The start of a query that the checkpoint knows; it may have been chosen by the run."""
        start = self._fingerprints.get(name, {}).get("start")
        return instant(start) if start else None

    def forget(self, name: str) -> None:
        """Removes a query; its state is removed with the next epoch."""
        for known in (self.queries, self.sinks, self.query_states, self._fingerprints, self._plans, self.failed):
            known.pop(name, None)

    @property
    def unclaimed(self) -> set[str]:
        """Queries of the checkpoint that are not part of this run, but for those that have failed."""
        return set(self.query_states) - set(self.queries) - set(self.failed)

    @property
    def waiting(self) -> set[str]:
        """Queries of this run that keep state with others of the checkpoint that are not part of it yet."""
        others = {t for q in self.unclaimed for t in self.query_states[q].tables}
        return {q for q in self.queries if others.intersection(self.query_states[q].tables)} if others else set()

    # Cleaning up

    def _remove_old(self) -> None:
        """Removes files that no retained commit refers to."""
        retained = remove_old(self.folders, self.epoch, RETAINED_COMMITS)
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
