"""Runs a query under each convention on the model, and finds the first row in which the answers differ, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from astralq.algebra.answers import answer_columns
from astralq.algebra.base import Kind, Operator
from astralq.compare.choices import Choice
from astralq.compare.systems import ASTRAL, System
from astralq.errors import AstralError
from astralq.model.run import prepare, run
from astralq.model.sources import Data
from astralq.printing.values import text
from astralq.schema import Attribute, Values
from astralq.timeline import Instant

Row = tuple[str, ...]
"""A row of an answer as it is printed."""


@dataclass(frozen=True)
class Answered:
    """What a query answers under one convention, or why it cannot be asked there."""

    system: System
    operator: Operator | None
    columns: tuple[Attribute, ...] = ()
    rows: tuple[Row, ...] = ()
    refused: str | None = None
    because: tuple[Choice, ...] = ()  # what causes the first difference
    differs_at: int | None = None  # the first row that is another one than Astral's


@dataclass(frozen=True)
class Asked:
    """A query as it is written: its operator, what it is in other dialects, its data, and what it observes."""

    operator: Operator
    dialects: Mapping[System, Operator | AstralError]
    data: Data
    t0: Instant | None = None
    until: Instant | None = None


def compare(asked: Asked, systems: Sequence[System]) -> list[Answered]:
    """The answers under each convention, Astral's first."""
    base = _answered(asked, ASTRAL, asked.operator)
    first = _first_instant(asked)
    found = [base]
    for system in systems:
        if system is ASTRAL:
            continue
        found.append(_explained(asked, system, base, first))
    return found


def _first_instant(asked: Asked) -> Instant:
    return prepare(asked.operator, asked.data, asked.t0, asked.until).ctx.start.t


def _explained(asked: Asked, system: System, base: Answered, first: Instant) -> Answered:
    operator = asked.operator
    if system.dialect is not None:
        read = asked.dialects[system]
        if isinstance(read, AstralError):
            return Answered(system, None, refused=read.message.splitlines()[0])
        operator = read
    else:
        for choice in system.choices:
            operator = choice.rewrite(operator, first)
    found = _answered(asked, system, operator)
    if found.refused is not None:
        return found
    at = _first_difference(base.rows, found.rows)
    if at is None:
        return found
    because = _causes(asked, system, base, found.rows, at, first)
    return Answered(system, operator, found.columns, found.rows, None, because, at)


def _answered(asked: Asked, system: System, operator: Operator) -> Answered:
    try:
        rows = run(operator, asked.data, t0=asked.t0, until=asked.until).rows
    except AstralError as e:
        return Answered(system, None, refused=e.message.splitlines()[0])
    columns = answer_columns(operator)
    if operator.kind is Kind.WINDOWS:
        return Answered(system, None, refused="a stream of windows is not an answer: stream it with RSTREAM(…)")
    return Answered(system, operator, columns, tuple(_shown(r, columns) for r in rows))


def _shown(row: Values, columns: Sequence[Attribute]) -> Row:
    return tuple("null" if v is None else text(v, a.type, "iso") for v, a in zip(row, columns, strict=True))


def _first_difference(a: Sequence[Row], b: Sequence[Row]) -> int | None:
    return next((k for k, (x, y) in enumerate(zip_longest(a, b)) if x != y), None)


def _causes(
    asked: Asked, system: System, base: Answered, rows: Sequence[Row], at: int, first: Instant
) -> tuple[Choice, ...]:
    """The one choice that gives the row by itself; else the first ones that do so together; else all that change it."""

    def made(choices: Sequence[Choice]) -> Sequence[Row]:
        operator = asked.operator
        for choice in choices:
            operator = choice.rewrite(operator, first)
        return _answered(asked, system, operator).rows

    def row(found: Sequence[Row]) -> Row | None:
        return found[at] if at < len(found) else None

    alone = {choice: made([choice]) for choice in system.choices}
    wanted = row(rows)
    for choice, found in alone.items():
        if row(found) == wanted and _first_difference(base.rows, found) == at:
            return (choice,)
    for upto in range(2, len(system.choices) + 1):
        needed = list(system.choices[:upto])
        if row(made(needed)) != wanted:
            continue
        for choice in system.choices[:upto]:  # what can be left out, and the row is the same
            fewer = [c for c in needed if c is not choice]
            needed = fewer if row(made(fewer)) == wanted else needed
        return tuple(needed)
    return tuple(c for c, found in alone.items() if _first_difference(base.rows, found) == at)
