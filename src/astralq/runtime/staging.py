"""Staged answers: what an epoch adds to each query's answer, in files; similar queries' are written by one job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.errors import AnalysisException

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
    """Writes what an epoch, which reads so many rows, adds to the answers; the state that they need is written."""
    staged = StagedAnswers()
    together: dict[str, list[tuple[str, Root]]] = {}
    for name, root in zip(plans, epoch.roots(list(plans.values()), rows), strict=True):
        if root is None:
            staged.answers[name] = Part(_relative(folders, folders.staged(number, name)), (), 0)
        else:
            together.setdefault(root.table.digest, []).append((name, root))

    def write(members: Sequence[tuple[str, Root]]) -> None:
        if members[0][1].query is None or not _write_together(epoch, members, folders, number, staged):
            for name, _ in members:
                _write_alone(epoch, name, plans[name], folders, number, staged)

    with ThreadPoolExecutor(THREADS) as pool:  # while one plans, another computes
        list(pool.map(write, together.values()))
    for name, query in zip(plans, epoch.queries, strict=True):
        if name not in staged.failures:
            _attributed(name, staged, lambda query=query: epoch.write_state(query.tables))  # type: ignore[misc]
    return staged


def _write_together(
    epoch: Epoch, members: Sequence[tuple[str, Root]], folders: Folders, number: int, staged: StagedAnswers
) -> bool:
    """One job for all queries of a group plan, each in a folder of its own; False if it fails, by whatever query."""
    folder = folders.staged(number, members[0][0])
    try:
        with translated_errors():
            try:
                rows = epoch.execution.frame(members[0][1].table)
            except AnalysisException:
                return False  # some functions take constants only
            # Text files are written in the order of these.
            rows.sortWithinPartitions(QUERY, "_n").write.mode("overwrite").partitionBy(QUERY).parquet(str(folder))
    except EngineError:
        raise
    except AstralError:
        return False
    for name, root in members:
        staged.answers[name] = Part.of(folders.root, folder / f"{QUERY}={root.query}")
    return True


def _write_alone(epoch: Epoch, name: str, plan: Plan, folders: Folders, number: int, staged: StagedAnswers) -> None:
    folder = folders.staged(number, name)

    def write() -> None:
        answer = epoch.answer(plan)
        assert answer is not None
        answer.write.mode("overwrite").parquet(str(folder))
        staged.answers[name] = Part.of(folders.root, folder)

    _attributed(name, staged, write)


def _attributed(name: str, staged: StagedAnswers, write: Callable[[], None]) -> None:
    """Does something for a query; if its data or its text are to blame, it is the query that fails."""
    try:
        with translated_errors():
            write()
    except EngineError:
        raise
    except EvaluationError as e:
        staged.failures[name] = e


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
