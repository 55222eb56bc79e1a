"""What `astralq start` prints of several queries, piece by piece."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from astralq.cli.live import Printed
from astralq.schema import BIGINT, STRING, Attribute

COLUMNS = {"1": (Attribute("n", BIGINT),), "2": (Attribute("name", STRING),), "3": (Attribute("n", BIGINT),)}


@dataclass(frozen=True)
class Piece:
    """An epoch's answer that is in no file."""

    query: str
    values: tuple[Any, ...]

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return COLUMNS[self.query]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        return ((v,) for v in self.values)


def printed(format_: str, queries: int, *pieces: Piece) -> str:
    out = io.StringIO()
    sink = Printed(format_, "iso", queries, out)
    for piece in pieces:
        sink.publish(piece)  # type: ignore[arg-type]
    return out.getvalue()


def test_csv_of_one_query_has_its_header_once() -> None:
    assert printed("csv", 1, Piece("1", (1, 2)), Piece("1", (3,))) == "n\n1\n2\n3\n"


def test_csv_of_several_queries_is_numbered_as_that_of_a_batch_run() -> None:
    pieces = [Piece("1", (1,)), Piece("2", ("a",)), Piece("1", (2,)), Piece("3", (5,))]
    assert printed("csv", 3, *pieces) == "_q,n\n1,1\n_q,name\n2,a\n_q,n\n1,2\n3,5\n"


def test_json_lines_of_several_queries_are_numbered() -> None:
    assert printed("jsonl", 2, Piece("1", (1,)), Piece("2", ("a",))) == '{"_q": 1, "n": 1}\n{"_q": 2, "name": "a"}\n'


@pytest.mark.parametrize("queries", [1, 2])
def test_a_table_has_a_header_again_only_where_another_query_comes(queries: int) -> None:
    text = printed("table", queries, Piece("1", (1,)), Piece("1", (2,)))
    assert text == ("-- query 1\n" if queries > 1 else "") + "n\n─\n1\n2\n"
