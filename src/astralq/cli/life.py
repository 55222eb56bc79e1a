"""`astralq queries`, `add` and `drop`: the life of the queries of a run that another process keeps going."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from astralq.cli.scripts import STDIN, errors_of, read_all
from astralq.errors import PlanError
from astralq.laws.optimize import optimize
from astralq.runtime.control import AddedQuery, Request, RunStatus, ask, status
from astralq.timeline import format_instant


def add(
    checkpoint: Path, file: str, dialect: str | None, bind: Sequence[str], name: str | None, *, allow_unbounded: bool
) -> list[str]:
    """Adds the queries of a file to the run of a checkpoint; returns their names."""
    if file == STDIN:
        raise PlanError("queries are added from a file", hint="give its name")
    (source,) = read_all([file], dialect, asked=True, bind=bind)
    statements = source.script.queries
    with errors_of(file):
        if not allow_unbounded:
            for s in statements:
                optimize(s.operator).check_bounded()
        stem = name or Path(file).stem
        names = [stem] if len(statements) == 1 else [f"{stem}-{s.number}" for s in statements]
        folder, read_as = str(source.folder.absolute()), dialect or source.wishes.dialect
        added = tuple(
            AddedQuery(n, source.text, s.number, file, folder, read_as, tuple(bind))
            for n, s in zip(names, statements, strict=True)
        )
    ask(checkpoint, Request(added))
    return names


def drop(checkpoint: Path, name: str) -> None:
    """Drops a query of the run of a checkpoint, with its state."""
    ask(checkpoint, Request(drop=name))


def shown(checkpoint: Path, *, as_json: bool) -> str:
    """The queries of a checkpoint after its last epoch, as a table or as JSON."""
    found = status(checkpoint)
    return _json(found) if as_json else _table(found)


def _json(found: RunStatus) -> str:
    queries = [
        {
            "query": q.name,
            "watermark": None if q.state.since is None else format_instant(q.state.since),
            "released": q.state.released,
            "late": q.state.late,
            "rejected": q.state.rejected,
            "written": q.state.written,
            "state_rows": q.kept_rows,
            "state_bytes": q.kept_bytes,
            "failure": q.failure,
            "operators": q.text,
        }
        for q in found.queries
    ]
    return json.dumps({"running": found.running, "epoch": found.epoch, "queries": queries}, ensure_ascii=False)


def _table(found: RunStatus) -> str:
    table = Table(box=None, pad_edge=False, header_style="")
    for column in ("query", "answered up to"):
        table.add_column(column, no_wrap=True)
    for column in ("read", "late", "unusable", "written", "kept"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for q in found.queries:
        state = q.state
        counts = (state.released, state.late, state.rejected, state.written, q.kept_rows)
        since = "" if state.since is None else format_instant(state.since)
        table.add_row(q.name, since, *(f"{n:,}" for n in counts), "" if q.failure is None else f"stopped: {q.failure}")
    console = Console(width=120, record=True, file=None, highlight=False, markup=False, color_system=None)
    with console.capture() as captured:
        console.print(table)
    going = f"running, epoch {found.epoch}" if found.running else f"not running, {found.epoch} epochs"
    lines = [going, *(line.rstrip() for line in captured.get().splitlines())] if found.queries else [going]
    return "\n".join(lines)
