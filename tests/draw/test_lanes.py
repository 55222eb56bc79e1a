"""The other lanes of a picture: relations as rows that hold, answers with their values, and what is shown once."""

from __future__ import annotations

from astralq import relation, rows, stream
from astralq.draw.scene import BarLane, DotLane, SpanLane
from tests.draw.support import labels, panel, spans
from tests.support import sec

S = stream("S", "v INT, ts TIMESTAMP", timestamp="ts")
PRICES = relation("prices", "op STRING, ts TIMESTAMP, item STRING, price INT", change="op", at="ts", key="item")
LOG = {
    "prices": [
        ("+", sec(1), "tea", 2),
        ("+", sec(2), "milk", 1),
        ("+", sec(5), "tea", 3),
        ("-", sec(7), "milk", 1),
    ]
}


def values(*times: int) -> list[tuple[int, int]]:
    return [(t, sec(t)) for t in times]


def test_a_row_holds_from_its_gain_to_its_loss_and_a_replaced_one_shares_its_line() -> None:
    shown = panel(PRICES.where("price > 0"), LOG)
    assert spans(shown.lanes[-1]) == [(0, 2, 7, "milk, 1"), (1, 1, 5, "tea, 2"), (1, 5, None, "tea, 3")]


def test_a_relation_that_is_asked_for_as_it_is_stored_is_shown_once() -> None:
    assert [n.name for n in panel(PRICES.where("price > 0"), LOG).lanes] == ["answer"]
    assert [n.name for n in panel(PRICES.where("price > 1"), LOG).lanes] == ["prices", "answer"]


def test_equal_rows_that_follow_each_other_share_a_line() -> None:
    data = {"S": [(7, sec(1)), (7, sec(3))]}
    shown = panel(S[rows(1)].select("v"), data)
    assert spans(shown.lanes[-1]) == [(0, 1, 3, "7"), (0, 3, None, "7")]


def test_the_answer_of_a_stream_has_its_values() -> None:
    shown = panel(S[rows(2)].aggregate("count(*) AS n, sum(v) AS total").rstream(), {"S": values(1, 2, 3)})
    answer = shown.lanes[-1]
    assert isinstance(answer, DotLane)
    assert answer.is_answer
    assert answer.columns == ("n", "total")
    assert labels(answer) == ["1, 1", "2, 3", "2, 5"]


def test_the_windows_of_sneeql_answer_with_their_tuples() -> None:
    shown = panel(S.windows(1, 0, 2), {"S": values(1, 2)})
    assert labels(shown.lanes[-1]) == ["1, 1", "2, 2"]


def test_a_timestamp_is_on_the_axis_and_not_among_the_values_of_a_source() -> None:
    shown = panel(S[rows(1)], {"S": values(4)})
    source = shown.lanes[0]
    assert isinstance(source, DotLane)
    assert source.columns == ("v",)
    assert labels(source) == ["4"]


def test_the_bounds_of_a_version_are_its_bar_and_not_its_values() -> None:
    held = relation("held", "id INT, a TIMESTAMP, b TIMESTAMP", valid_from="a", valid_to="b")
    data = {"held": [(1, sec(2), sec(5)), (2, sec(3), None)]}
    assert spans(panel(held.select("id"), data).lanes[-1]) == [(0, 2, 5, "1"), (1, 3, None, "2")]


def test_a_stream_without_a_window_is_shown_below_its_answer() -> None:
    shown = panel(S.where("v > 1"), {"S": values(1, 2)})
    assert [n.name for n in shown.lanes] == ["S", "answer"]
    assert labels(shown.lanes[0]) == ["1", "2"]


def test_what_designates_the_sensors_is_shown_with_its_validity() -> None:
    """Live designation (001 §7.1): a sensor is designated while its last value is above 2."""
    hot = S[rows(1)].where("v > 2").select("v AS w")
    shown = panel(S.lookup(hot, on="v = w", how="semi"), {"S": values(1, 3, 4)})
    assert [n.name for n in shown.lanes] == ["S", "[ROWS 1]", "designation", "answer"]
    assert spans(shown.lanes[2]) == [(0, 3, 4, "3"), (1, 4, None, "4")]
    assert labels(shown.lanes[3]) == ["3, 3", "4, 4"]


def test_lanes_go_from_the_sources_to_the_answer() -> None:
    shown = panel(S[rows(2)].join(PRICES, on="v = price").istream(), {"S": values(1, 2), **LOG})
    kinds = [type(n) for n in shown.lanes]
    assert kinds == [DotLane, BarLane, SpanLane, DotLane]


def test_the_title_is_the_query_as_it_would_be_written() -> None:
    query = S[rows(2)].where("v > 1").istream()
    assert panel(query, {"S": []}).title == "ISTREAM(SELECT * FROM S [ROWS 2] WHERE v > 1)"


def test_a_query_that_cannot_be_written_has_its_operators_as_title() -> None:
    query = S[rows(2)].istream(by_value=True)
    assert panel(query, {"S": []}).title.endswith("← WINDOW [ROWS 2] ← STREAM S")
