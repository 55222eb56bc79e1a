"""Outer band joins, and FOR SYSTEM_TIME AS OF: answers worked out by hand or by comparing all pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astralq.laws.optimize import optimize
from astralq.model import Data
from tests.language.support import bound, error, said
from tests.support import answer, single

DATA: Data = {"k": single((1, 10, 2), (2, 20, 4), (3, 30, 20)), "w": single((1, "a", 5), (2, "b", 9))}
"""k has id 1 at 2 s, 2 at 4 s and 3 at 20 s; w has id 1 at 5 s and 2 at 9 s."""

JOIN = "SELECT v, z FROM k {} JOIN w ON k.id = w.id WITHIN 3 SECONDS"


def test_a_left_band_join_tells_what_has_no_match_when_none_can_come() -> None:
    """Of id 1 the match comes 3 s later, which is near enough; that of 2 is due by 7 s, and of 3 by 23 s."""
    expected = [(5, 0, 10, "a"), ("7.000001", 0, 20, None), ("23.000001", 0, 30, None)]
    assert said(JOIN.format("LEFT"), DATA, until=30) == expected
    assert said(JOIN.format("LEFT"), DATA) == expected[:2]  # the run ends at 20 s, when that is not known yet


def test_right_full_and_anti_band_joins() -> None:
    assert said(JOIN.format("RIGHT"), DATA, until=30) == [(5, 0, 10, "a"), ("12.000001", 0, None, "b")]
    both = [(5, 0, 10, "a"), ("7.000001", 0, 20, None), ("12.000001", 0, None, "b"), ("23.000001", 0, 30, None)]
    assert said(JOIN.format("FULL"), DATA, until=30) == both
    alone = said("SELECT v FROM k ANTI JOIN w ON k.id = w.id WITHIN 3 SECONDS", DATA, until=30)
    assert alone == [("7.000001", 0, 20), ("23.000001", 0, 30)]


moments = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=6).map(
    lambda rows: sorted(rows, key=_time)
)


def _time(row: tuple[int, int]) -> int:
    return row[1]


@given(moments, moments, st.integers(0, 4))
def test_every_tuple_is_in_a_full_band_join_as_often_as_it_has_matches_and_once_without(
    left: list[tuple[int, int]], right: list[tuple[int, int]], d: int
) -> None:
    data: Data = {
        "k": single(*((i, n, t) for n, (i, t) in enumerate(left))),
        "w": single(*((i, str(n), t) for n, (i, t) in enumerate(right))),
    }
    op = bound(f"SELECT v, z FROM k FULL JOIN w ON k.id = w.id WITHIN {d} SECONDS")
    found = answer(op, data, until=30) if left or right else []
    pairs = [
        (max(t, u), n, str(m))
        for n, (i, t) in enumerate(left)
        for m, (j, u) in enumerate(right)
        if i == j and abs(t - u) <= d
    ]
    expected: list[tuple[object, ...]] = [(str(float(t)), n, m) for t, n, m in pairs]
    late = 0.000001
    matched = ({n for _, n, _ in pairs}, {m for _, _, m in pairs})
    expected += [(str(t + d + late), n, None) for n, (_, t) in enumerate(left) if n not in matched[0]]
    expected += [(str(u + d + late), None, str(m)) for m, (_, u) in enumerate(right) if str(m) not in matched[1]]
    assert sorted([(str(float(t)), v, z) for t, _, v, z in found], key=repr) == sorted(expected, key=repr)


def test_what_an_outer_band_join_keeps_is_told_in_the_units_that_were_written() -> None:
    declared = "CREATE STREAM s (id INT, ts TIMESTAMP) FROM csv 's.csv' TIMESTAMP BY ts;"
    joined = bound("SELECT s.id FROM s LEFT JOIN s b ON s.id = b.id WITHIN 3 MINUTES", declared=declared)
    assert [str(kept) for kept in optimize(joined).kept][2:] == [
        "DELAYED BY 3 MINUTES + 1 MICROSECOND: what held in the last 3 MINUTES + 1 MICROSECOND",
        "WINDOW [NOW]: the tuples that it holds, or will hold",
        "WINDOW [RANGE 6 MINUTES + 1 MICROSECOND]: the tuples that it holds, or will hold",
    ]


def test_for_system_time_as_of_is_a_lookup_join() -> None:
    declared = (
        "CREATE STREAM s (id INT, ts TIMESTAMP) FROM csv 's.csv' TIMESTAMP BY ts;\n"
        "CREATE RELATION r (id INT, name STRING) FROM csv 'r.csv';"
    )
    written = "SELECT s.id, x.name FROM s {} JOIN r FOR SYSTEM_TIME AS OF s.ts AS x ON s.id = x.id"
    other = "SELECT s.id, x.name FROM s {} LOOKUP JOIN r AS x ON s.id = x.id"
    for side in ("", "LEFT"):
        assert bound(written.format(side), declared=declared) == bound(other.format(side), declared=declared)
    behind = "SELECT s.id, x.name FROM s JOIN r AS x FOR SYSTEM_TIME AS OF s._t ON s.id = x.id"
    assert bound(behind, declared=declared) == bound(other.format(""), declared=declared)


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        (
            "SELECT s.id FROM s JOIN r FOR SYSTEM_TIME AS OF s.due ON s.id = r.id",
            "FOR SYSTEM_TIME AS OF s.due: the time of the left side's tuples is ts",
            "a lookup is as of the time of a tuple; for another one delay the relation: r DELAYED BY 1 HOUR",
        ),
        (
            "SELECT s.id FROM s JOIN r FOR SYSTEM_TIME AS OF PROCTIME() ON s.id = r.id",
            "PROCTIME() is no time of the left side's tuples",
            "LOOKUP JOIN goes by the time of a tuple; TIMESTAMP ON ARRIVAL makes that the time when it arrives",
        ),
        (
            "SELECT * FROM r FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01'",
            "FOR SYSTEM_TIME AS OF stands behind the right side of a join",
            "write s JOIN r FOR SYSTEM_TIME AS OF s.ts ON …, or s LOOKUP JOIN r ON …;"
            " a past state is r AT TIMESTAMP '…'",
        ),
        (
            "SELECT s.id FROM s LEFT JOIN s AS b ON s.id = b.id WITHIN 3 ROWS",
            "a LEFT JOIN of streams without a band of time: it would never be known that no match comes",
            "write WITHIN and a duration, for example WITHIN 10 MINUTES",
        ),
        (
            "SELECT s.id FROM s SEMI JOIN s AS b ON s.id = b.id WITHIN 3 SECONDS",
            "a SEMI JOIN has no band",
            "use an inner band join, and project it",
        ),
    ],
)
def test_an_error_says_what_and_what_to_do(query: str, message: str, hint: str) -> None:
    declared = (
        "CREATE STREAM s (id INT, due TIMESTAMP, ts TIMESTAMP) FROM csv 's.csv' TIMESTAMP BY ts;\n"
        "CREATE RELATION r (id INT, name STRING) FROM csv 'r.csv';"
    )
    lines = error(f"{declared}\n{query};").splitlines()
    assert lines[0].split(": ", 1)[1] == message
    assert lines[-1] == f"  hint: {hint}"
