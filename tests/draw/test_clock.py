"""Times on an axis, as people write them."""

from __future__ import annotations

import pytest

from astralq import instant
from astralq.draw.clock import Clock
from astralq.timeline import Instant


def ticks(start: str | int, end: str | int) -> list[str]:
    return [text for _, text in Clock(instant(start), instant(end)).ticks()]


def test_small_numbers_of_seconds_are_numbers() -> None:
    assert ticks(0, 6_000_000) == ["0", "1", "2", "3", "4", "5", "6"]
    assert ticks(0, 1_000_000) == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert Clock(Instant(0), Instant(6_000_000)).title == "seconds"


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-03-01T12:00:05Z", "2026-03-01T12:01:05Z", ["12:00:10", "12:00:20", "12:00:30", "12:00:40"]),
        ("2026-03-01T12:00Z", "2026-03-01T13:00Z", ["12:00", "12:10", "12:20", "12:30", "12:40"]),
        ("2026-03-01T22:00Z", "2026-03-02T03:00Z", ["22:00\n2026-03-01", "23:00", "00:00\n2026-03-02", "01:00"]),
        ("2026-03-01", "2026-03-08", ["2026-03-01", "2026-03-02", "2026-03-03"]),
        ("2026-01-15", "2026-08-15", ["2026-02", "2026-03", "2026-04"]),
        ("2001-01-01", "2021-01-01", ["2005", "2010", "2015", "2020"]),
    ],
)
def test_ticks_are_round_and_as_precise_as_they_need_to_be(start: str, end: str, expected: list[str]) -> None:
    assert ticks(start, end)[: len(expected)] == expected


@pytest.mark.parametrize("days", [0, 1, 3, 30, 400, 4000, 40_000, 400_000, 2_900_000])
def test_an_axis_of_any_length_has_at_most_ten_ticks(days: int) -> None:
    start = instant("1971-01-01")
    assert len(Clock(start, Instant(start + days * 86_400_000_000)).ticks()) <= 10


def test_the_day_is_said_once_if_it_is_one() -> None:
    assert Clock(instant("2026-03-01T12:00Z"), instant("2026-03-01T13:00Z")).title == "UTC, 2026-03-01"
    assert Clock(instant("2026-03-01T12:00Z"), instant("2026-03-02T13:00Z")).title == "UTC"


def test_an_instant_of_another_day_has_its_date() -> None:
    clock = Clock(instant("2026-03-01T12:00Z"), instant("2026-03-01T13:00Z"))
    assert clock.text(instant("2026-03-01T12:30Z")) == "12:30"
    assert clock.text(instant("2026-02-28T12:30:05.5Z")) == "2026-02-28 12:30:05.5"
    assert clock.text(instant("2026-02-28")) == "2026-02-28"
