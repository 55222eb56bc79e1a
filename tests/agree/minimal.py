"""What a failing generated case prints: the smallest case that fails in the same way, as a test to paste."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

import pytest
from hypothesis import Phase

from astralq.algebra.base import Operator
from astralq.errors import AstralError, PlanError
from astralq.language import read_script
from astralq.language.printer import dialect_of, print_script
from astralq.model import Data, Stream
from tests.agree.compare import Rows, on_model, same
from tests.queries import BASE, C, Case, M, P, S, T, nth, with_seed

SECONDS = 120.0
"""How long a case is made smaller: each try asks Spark."""

Answer = Rows | str
"""Rows, or what was raised."""


def answer(f: Callable[[], Rows], caught: type[Exception] = Exception) -> Answer:
    try:
        return f()
    except caught as e:
        return f"{type(e).__name__}: {str(e)[:2000]}"


def compared(case: Case, call: str, on_spark: Callable[[], Rows], **options: Any) -> Difference | None:
    """What differs between Spark's answer to a case and the model's with these options, if anything does."""
    expected = answer(lambda: on_model(case.query, case.data, **options), AstralError)
    found = answer(on_spark)
    if isinstance(expected, list) and isinstance(found, list) and same(expected, found):
        return None
    return Difference(case, call, expected, found, "".join(f", {name}={value}" for name, value in options.items()))


# Text that can be pasted


@dataclass(frozen=True)
class Difference:
    """Two answers to a case that are not the same. `call`: what was asked of Spark, with `query` and `data`."""

    case: Case
    call: str
    expected: Answer
    found: Answer
    options: str = ""

    def __str__(self) -> str:
        data = {name: self.case.data[name] for name in sources(self.case.query.operator)}
        query, imports = query_code(self.case.query.operator)
        return "\n".join(
            [
                "",
                str(self.case.query),
                f"model {self.expected}",
                f"spark {self.found}",
                "",
                "# tests/agree/test_found.py",
                *sorted({*_IMPORTS, *imports}),
                "",
                "",
                "def test_both_engines_agree(spark: SparkSession, several: SparkSession) -> None:",
                f"    query = {query}",
                f"    data: Data = {data_code(data)}",
                f"    found = {self.call}",
                f"    assert same(found, on_model(query, data{self.options}))",
                "",
            ]
        )


_IMPORTS = (
    "from pyspark.sql import SparkSession",
    "from astralq.model import Data, Stream",
    "from astralq.spark import Engine",
    "from astralq.timeline import BatchId, Instant",
    "from tests.agree.compare import on_model, on_spark, same",
    "from tests.agree.epochs import in_epochs",
)


_KNOWN: dict[Operator, str] = {q.operator: name for name, q in {"S": S, "T": T, "P": P, "M": M, "C": C}.items()}
_KNOWN |= {q.operator: f"BASE[{k}]" for k, q in enumerate(BASE[:-1])}
"""The sources of generated queries; the last relation is C."""


def sources(query: Operator) -> list[str]:
    """The names of a query's sources."""
    return sorted({op.name for op in query.walk() if not op.children and hasattr(op, "name")})


def query_code(query: Operator) -> tuple[str, list[str]]:
    """An expression for a query, and what it imports: its text, or its operators where the language has no form."""
    try:
        text, dialect = print_script(query), dialect_of(query)
        if read_script(text, dialect).queries[0].operator == query:
            reading = f'read_script("""\n{text}\n""", {dialect!r}).queries[0].operator'
            return reading, ["from astralq.language import read_script"]
    except PlanError:
        pass
    imports: set[str] = set()
    return code(query, imports), sorted(imports)


def code(value: object, imports: set[str]) -> str:
    """An expression for an immutable value, with the imports that it needs."""
    if isinstance(value, Operator) and value in _KNOWN:
        imports.add("from tests.queries import BASE, C, M, P, S, T")
        return f"{_KNOWN[value]}.operator"
    if is_dataclass(value):
        imports.add(f"from {type(value).__module__} import {type(value).__name__}")
        given = ", ".join(f"{name}={code(held, imports)}" for name, held in _given(value))
        return f"{type(value).__name__}({given})"
    if isinstance(value, Enum):
        imports.add(f"from {type(value).__module__} import {type(value).__name__}")
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        return f"({''.join(f'{code(one, imports)}, ' for one in value)})"
    if type(value).__module__ == "datetime":
        imports.add("import datetime")
    return repr(value)


def _given(value: Any) -> Iterator[tuple[str, object]]:
    """The fields that have to be given."""
    for field in fields(value):
        held = getattr(value, field.name)
        if field.init and (field.default is MISSING or held != field.default):
            yield field.name, held


def data_code(data: Data) -> str:
    return "{" + ", ".join(f"{name!r}: {_rows_code(rows)}" for name, rows in data.items()) + "}"


def _rows_code(rows: Any) -> str:
    if not isinstance(rows, Stream):
        return repr(rows)
    tuples = (f"(BatchId(Instant({s.t}), {s.i}), {s.values})" for s in rows.tuples)
    return f"Stream.of([{', '.join(tuples)}])"


# Smaller cases


def assert_no_difference(seed: int, difference: Callable[[Case], Difference | None]) -> None:
    """Fails with the difference in the case of a seed, made small, if there is one."""
    found = smallest_difference(seed, difference)
    if found is not None:
        pytest.fail(str(found), pytrace=False)


def smallest_difference(seed: int, difference: Callable[[Case], Difference | None]) -> Difference | None:
    """The difference in the case of a seed, made small."""
    first = difference(nth(seed))
    if first is None:
        return None
    found = [first]
    end = time.monotonic() + SECONDS

    def fails(case: Case) -> None:
        if time.monotonic() < end and (smaller := difference(case)) is not None:
            found.append(smaller)
            raise AssertionError

    with suppress(Exception):  # Hypothesis tells of it in its own words, and that time ran out as of something flaky
        with_seed(seed, fails, Phase.shrink)
    return min(found, key=lambda d: len(str(d.case)))
