"""window_start and window_end: the bounds of the window that a state shows, with answers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from astralq import hop, landmark, range_, stream, tumble
from astralq.algebra.windows import WindowSpec
from astralq.language import read_script
from astralq.model import Data, run
from astralq.timeline import Instant
from tests.support import answer, sec, single

S = stream("S", "k INT")
DATA: Data = {"S": single((1, 3), (1, 12), (2, 13), (1, 40))}

Row = tuple[Any, ...]


def bounded(spec: WindowSpec, t0: int | None = None) -> list[Row]:
    """What ISTREAM says of counts by k in a window, with its bounds in seconds."""
    found = answer(S[spec].aggregate("count(*) AS n", by="k").window_bounds().istream(), DATA, t0=t0)
    return [(t, i, k, n, *(None if b is None else b / 1e6 for b in bounds)) for t, i, k, n, *bounds in found]


def test_every_window_of_a_group_is_a_row_also_with_the_same_values() -> None:
    """Of k = 1 there is one tuple in [0, 10) and one in [10, 20): the second window counts as many, and is told."""
    assert bounded(tumble("10 s")) == [(10, 0, 1, 1, 0, 10), (20, 0, 1, 1, 10, 20), (20, 0, 2, 1, 10, 20)]


def test_hops_overlap() -> None:
    """[-5, 5), [0, 10), [5, 15) and [10, 20) hold tuples of the first twenty seconds."""
    assert bounded(hop("10 s", "5 s")) == [
        (5, 0, 1, 1, -5, 5),
        (10, 0, 1, 1, 0, 10),
        (15, 0, 1, 1, 5, 15),
        (15, 0, 2, 1, 5, 15),
        (20, 0, 1, 1, 10, 20),
        (20, 0, 2, 1, 10, 20),
    ]


def test_a_range_is_closed_and_a_delay_does_not_move_it() -> None:
    """[2, 12] is evaluated at 12 and seen at 15; [12, 22] at 25. The tuple of 12 is in both."""
    assert bounded(range_("10 s", slide="10 s").delayed("3 s"), t0=2) == [
        (15, 0, 1, 2, 2, 12),
        (25, 0, 1, 1, 12, 22),
        (25, 0, 2, 1, 12, 22),
    ]


def test_a_landmark_stays_and_its_end_moves() -> None:
    assert bounded(landmark(Instant(sec(10)), "20 s")) == [
        (30, 0, 1, 1, 10, 30),
        (30, 0, 2, 1, 10, 30),
    ]


DECLARED = "CREATE STREAM S (k INT) TIMESTAMP ON ARRIVAL;\n"


def said(query: str) -> list[Row]:
    """The answer of the model to a query over S, times in seconds."""
    (read,) = read_script(DECLARED + query).queries
    columns = run(read.operator, DATA).rows
    return [tuple(v / 1e6 if isinstance(v, int) and abs(v) > 1000 else v for v in r) for r in columns]


def test_before_the_first_evaluation_they_are_null() -> None:
    """A landmark at 10 is evaluated there first; a count of nothing is a row, told at 3, where the run begins."""
    window = "[LANDMARK '1970-01-01T00:00:10Z' SLIDE 1 DAY]"
    query = f"ISTREAM(SELECT count(*) AS n, window_start, window_end FROM S {window});"
    assert said(query) == [(3, 0, 0, None, None), (10, 0, 0, 10, 10)]


@pytest.mark.parametrize("group", ["k", "k, window_start", "window_end, k, window_start"])
def test_they_may_stand_in_group_by_which_changes_nothing(group: str) -> None:
    query = f"ISTREAM(SELECT window_start, k, count(*) AS n FROM S [TUMBLE 10 SECONDS] GROUP BY {group});"
    assert said(query) == [(10, 0, 0, 1, 1), (20, 0, 10, 1, 1), (20, 0, 10, 2, 1)]


def test_a_window_that_holds_nothing_has_no_group_and_a_whole_has_its_row() -> None:
    """[20, 30) and [30, 40) are empty."""
    select = "SELECT window_start, count(*) AS n FROM S [TUMBLE 10 SECONDS]"
    assert said(f"ISTREAM({select} GROUP BY window_start);") == [(10, 0, 0, 1), (20, 0, 10, 2)]
    assert said(f"ISTREAM({select});") == [
        (3, 0, -10, 0),
        (10, 0, 0, 1),
        (20, 0, 10, 2),
        (30, 0, 20, 0),
        (40, 0, 30, 0),
    ]


def test_having_may_choose_windows() -> None:
    query = "ISTREAM(SELECT k, count(*) AS n FROM S [HOP 10 SECONDS EVERY 5 SECONDS] GROUP BY k"
    assert said(f"{query} HAVING window_start = TIMESTAMP '1970-01-01T00:00:05Z');") == [(15, 0, 1, 1), (15, 0, 2, 1)]


def test_tuples_have_them_without_an_aggregate() -> None:
    query = "ISTREAM(SELECT k, window_end FROM S [TUMBLE 10 SECONDS]);"
    assert said(query) == [(10, 0, 1, 10), (20, 0, 1, 20), (20, 0, 2, 20)]


def test_windows_that_are_evaluated_together_have_the_same_bounds() -> None:
    query = "ISTREAM(SELECT a.k, window_start FROM S [TUMBLE 10 SECONDS] a JOIN S [TUMBLE 10 SECONDS] b ON a.k < b.k);"
    assert said(query) == [(20, 0, 1, 10)]
