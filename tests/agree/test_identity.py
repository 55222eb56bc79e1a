"""Two windows that only differ in their functions are two windows: in batch, in epochs, and after a restart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from astralq import RelationQuery, StreamQuery, at_instants
from astralq.language import Statement, read_script
from astralq.model import Data
from astralq.runtime.checkpoint.folders import VERSION, CheckpointError
from astralq.spark import Engine
from tests.agree.compare import on_model, on_spark
from tests.agree.epochs import in_epochs
from tests.queries import S
from tests.runtime.live import Live
from tests.support import sec, single

DATA: Data = {"S": single((1, 1, 1), (2, 2, 2), (3, 3, 3), (9, 9, 9))}


def both(s: StreamQuery, *, named: bool) -> RelationQuery:
    """The tuples of [0, 1 s] and those of [0, 3 s], both evaluated at 5 s, by φ: what is in both."""
    texts = [("0 s", "1 s"), ("0 s", "3 s")] if named else [None, None]
    one, three = (
        s[at_instants([sec(5)], lambda _: 0, lambda _, n=n: sec(n), text=text)]  # type: ignore[misc]
        for n, text in zip((1, 3), texts, strict=True)
    )
    return three.difference(one)


@pytest.mark.parametrize("named", [False, True])
def test_both_engines_tell_them_apart(engine: Engine, named: bool) -> None:
    query = both(S, named=named).select("a")
    expected = [("+", sec(5), 0, 2), ("+", sec(5), 0, 3)]
    assert on_model(query, DATA) == expected
    assert on_spark(engine, query, DATA) == expected
    assert in_epochs(engine, query, DATA, [sec(2), sec(4), sec(9)]) == expected


TEXT = "CREATE STREAM s (k INT, ts BIGINT) FROM csv 's' TIMESTAMP BY ts UNIT SECONDS;\nSELECT * FROM s;"


@dataclass
class Twins(Live):
    """The query over files, built in Python."""

    @property
    def statement(self) -> Statement:
        read = read_script(self.text).queries[0]
        return replace(read, operator=both(StreamQuery(read.operator), named=True).operator)


@pytest.mark.usefixtures("classic")
def test_a_restart_finds_the_state_of_each(spark: SparkSession, tmp_path: Path) -> None:
    found = Twins(spark, tmp_path, TEXT)
    for lines in (["1,1", "2,2"], ["3,3", "4,4"], ["6,6", "9,9"]):
        found.feed("s", lines)
        with found.opened() as run:
            found.go_on(run)
    found.close()
    assert found.answer() == found.historic()
    assert [r[3] for r in found.answer()] == [2, 3]


@pytest.mark.usefixtures("classic")
def test_a_checkpoint_of_another_format_is_refused_with_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    found = Twins(spark, tmp_path, TEXT)
    found.feed("s", ["1,1", "2,9"])
    with found.opened() as run:
        found.go_on(run)
    note = found.checkpoint / "version"
    assert note.read_text() == f"{VERSION}\n"
    for written, version in (("1\n", 1), ("2\n", 2), (None, 1)):
        note.unlink()
        if written is not None:
            note.write_text(written)
        message = f"has the format {version}, and this is astralq with the format {VERSION}"
        with pytest.raises(CheckpointError, match=message):
            found.open()
        note.write_text(f"{VERSION}\n")
