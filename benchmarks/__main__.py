"""The command line of the benchmarks: which cases, how many rows, a table for people and a file for programs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from astralq.errors import AstralError, nearest
from benchmarks import CASES
from benchmarks.case import Case
from benchmarks.harness import Result, measure, session


class UsageError(AstralError):
    """A command line that cannot be meant."""


def chosen(names: Sequence[str], cases: Sequence[Case]) -> list[Case]:
    """The cases of these names, all if there are none: a workload, a case, or the beginning of one up to a slash."""
    for name in names:
        if not any(_is_called(case, name) for case in cases):
            known = dict.fromkeys(n for c in cases for n in (c.workload, c.name))
            hint = nearest(name, known) or f"the names are {', '.join(known)}"
            raise UsageError(f"there is no benchmark {name!r}", hint=hint)
    return [case for case in cases if not names or any(_is_called(case, name) for name in names)]


def _is_called(case: Case, name: str) -> bool:
    return f"{case.name}/".lower().startswith(f"{name.rstrip('/')}/".lower())


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Times our queries against plain Spark.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="W1 to W18, or one case: W2/3600/60; default: all")
    parser.add_argument("--rows", type=int, default=2_000_000, metavar="N", help="how many rows are read (2000000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the times are written, as a list of objects")
    found = parser.parse_args(given)
    if found.rows < 1:
        raise UsageError(f"--rows is {found.rows}", hint="give a number from 1 on")
    if found.json is not None and not found.json.resolve().parent.is_dir():
        raise UsageError(f"the folder {found.json.resolve().parent} does not exist", hint="make it first")
    return found


def table(results: Sequence[Result]) -> Table:
    shown = Table(
        "workload",
        "case",
        title="ratio: ours ÷ peer; seconds, the best of three or more, one run only where it took over a minute",
    )
    for column in ("rows", "ours", "peer", "ratio", "target", "floor", "answers"):
        shown.add_column(column, justify="right")
    for r in results:
        target = "" if r.case.target is None else f"{r.case.target}"
        times = (f"{r.ours.best:.2f}", f"{r.peer.best:.2f}", f"{r.ratio:.2f}", target, f"{r.floor.best:.2f}")
        equal = "equal" if r.equal else "[bold red]differ[/]"
        shown.add_row(r.case.workload, r.case.variant, f"{r.rows:,}", *times, equal)
    return shown


def main(
    given: Sequence[str] | None = None, *, spark: SparkSession | None = None, cases: Sequence[Case] = CASES
) -> int:
    """Runs what the command line asks for; 0 if all answers are equal, 1 if some differ, 2 if it cannot be meant."""
    console = Console(stderr=True)
    try:
        asked = arguments(sys.argv[1:] if given is None else given)
        wanted = chosen(asked.names, cases)
    except UsageError as e:
        console.print(str(e), markup=False, highlight=False, soft_wrap=True)
        return 2
    running = spark or session()
    results: list[Result] = []
    for case in wanted:
        console.print(f"{case.name} …", markup=False, highlight=False)
        results.append(measure(running, case, asked.rows))
        if asked.json is not None:
            # After each case, so that an interrupted run leaves what it has; the time of a wrong answer is none.
            asked.json.write_text(json.dumps([r.as_json() for r in results if r.equal], indent=2) + "\n")
    # In a file nothing is cut off.
    Console(width=None if sys.stdout.isatty() else 120).print(table(results))
    for r in results:
        if not r.equal:
            (n, a), (m, b) = r.ours.answer or (0, 0), r.peer.answer or (0, 0)
            told = f"{r.case.name}: the answers differ: ours has {n:,} rows (checksum {a}), the peer {m:,} ({b})"
            console.print(told, markup=False, highlight=False, soft_wrap=True)
    return 0 if all(r.equal for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
