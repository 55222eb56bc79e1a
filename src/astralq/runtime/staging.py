"""Staged answers: what an epoch adds to each query's answer, in files; similar queries' are written by one job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from astralq.errors import AstralError, EngineError, EvaluationError
from astralq.plan.answer import Plan
from astralq.plan.group_plan import QUERY
from astralq.plan.several import Root
from astralq.runtime.checkpoint.folders import Folders
from astralq.runtime.checkpoint.tables import Part
from astralq.spark.epoch import Epoch, EpochQuery
from astralq.spark.error_translation import translated_errors

THREADS = 4
"""How many answers are written at the same time."""


@dataclass
class StagedAnswers:
    """The answers of queries in files, and those that failed."""

    answers: dict[str, Part] = field(default_factory=dict)
    failures: dict[str, AstralError] = field(default_factory=dict)


def stage(epoch: Epoch, plans: Mapping[str, Plan], folders: Folders, number: int, rows: int) -> StagedAnswers:
    """Writes what an epoch, which reads so many rows, adds to the answers, and state tables beside them; what an answer
    reads of these is written before it."""
    staged = StagedAnswers()
    together: dict[str, list[tuple[str, Root]]] = {}
    for name, root in zip(plans, epoch.roots(list(plans.values()), rows), strict=True):
        if root is None:
            staged.answers[name] = Part(_relative(folders, folders.staged(number, name)), (), 0)
        else:
            together.setdefault(root.table.digest, []).append((name, root))

    def prepared(members: Sequence[tuple[str, Root]]) -> list[Write]:
        if members[0][1].query is not None and (write := _together(epoch, members, plans, folders, number, staged)):
            return [write]
        return [_alone(epoch, name, plans[name], folders, number, staged) for name, _ in members]

    users: dict[str, list[str]] = {}
    for name, query in zip(plans, epoch.queries, strict=True):
        for table in query.tables:
            users.setdefault(table, []).append(name)
    with ThreadPoolExecutor(THREADS) as pool:  # while one plans, another computes
        writes = [write for some in pool.map(prepared, together.values()) for write in some]
        writes += [_attributed(names, staged, partial(epoch.write_state, table)) for table, names in users.items()]
        list(pool.map(lambda write: write(), writes))
    return staged


Write = Callable[[], None]


def _together(
    epoch: Epoch,
    members: Sequence[tuple[str, Root]],
    plans: Mapping[str, Plan],
    folders: Folders,
    number: int,
    staged: StagedAnswers,
) -> Write | None:
    """How one job writes the answers of all queries of a group plan, each to a folder of its own; None if these cannot
    be planned together. If it fails, by whatever query, each answer is written alone."""
    folder = folders.staged(number, members[0][0])
    try:
        with translated_errors():
            try:
                rows = epoch.execution.frame(members[0][1].table)
            except AnalysisException:
                return None  # some functions take constants only
    except EngineError:
        raise
    except AstralError:
        return None

    def write() -> None:
        try:
            with translated_errors():
                # Text files are written in the order of these.
                ordered = rows.sortWithinPartitions(QUERY, "_n")
                ordered.write.mode("overwrite").partitionBy(QUERY).parquet(str(folder))
        except EngineError:
            raise
        except AstralError:
            for name, _ in members:
                _alone(epoch, name, plans[name], folders, number, staged)()
            return
        for name, root in members:
            staged.answers[name] = Part.of(folders.root, folder / f"{QUERY}={root.query}")

    return write


def _alone(epoch: Epoch, name: str, plan: Plan, folders: Folders, number: int, staged: StagedAnswers) -> Write:
    """How the answer of one query is written."""
    folder = folders.staged(number, name)
    answers: list[DataFrame] = []

    def prepare() -> None:
        answer = epoch.answer(plan)
        assert answer is not None
        answers.append(answer)

    def write() -> None:
        for answer in answers:
            answer.write.mode("overwrite").parquet(str(folder))
            staged.answers[name] = Part.of(folders.root, folder)

    _attributed([name], staged, prepare)()
    return _attributed([name], staged, write)


def _attributed(names: Sequence[str], staged: StagedAnswers, write: Write) -> Write:
    """Something that is done for queries; if their data or texts are to blame, it is these queries that fail."""

    def attributed() -> None:
        try:
            with translated_errors():
                write()
        except EngineError:
            raise
        except EvaluationError as e:
            staged.failures |= dict.fromkeys(names, e)

    return attributed


def _relative(folders: Folders, folder: Path) -> str:
    return str(folder.relative_to(folders.root))


def blamed(epoch: Epoch, asked: Mapping[str, EpochQuery], error: AstralError) -> dict[str, AstralError]:
    """The queries that cannot be planned because something fails that has to be measured first."""
    failures: dict[str, AstralError] = {}
    for name, one in asked.items() if len(asked) > 1 else ():
        try:
            with translated_errors():
                replace(epoch, queries=[one]).plan()
        except EvaluationError as e:
            failures[name] = e
    return failures or dict.fromkeys(asked, error)
