"""Windows by the calendar: months, and days of a time zone, with answers worked out by hand."""

from __future__ import annotations

import pytest

from astralq import hop, instant, stream, tumble
from astralq.algebra.windows import WindowSpec
from astralq.model import run
from astralq.timeline import Instant, format_instant

S = stream("S", "v INT, ts TIMESTAMP", timestamp="ts")


def counted(spec: WindowSpec, *times: str, until: str | None = None) -> list[tuple[str, int, str, str]]:
    """When each window is told, how many of the tuples of these times it holds, and its bounds."""
    data = {"S": [(k, instant(t)) for k, t in enumerate(times)]}
    query = S[spec].aggregate("count(*) AS n", by="1").window_bounds().istream()
    answer = run(query, data, until=None if until is None else instant(until))
    return [(_short(r.t), r.values[1], *map(_short, r.values[2:])) for r in answer]


def _short(t: int) -> str:
    return format_instant(Instant(t)).removesuffix(":00Z")


def test_months_have_their_own_lengths() -> None:
    """The last moment of February 2024 is on the 29th."""
    times = ("2024-01-31T23:59:59Z", "2024-02-01T00:00:00Z", "2024-02-29T23:59:59Z", "2024-03-01T00:00:00Z")
    assert counted(tumble("1 month"), *times, until="2024-04-02") == [
        ("2024-02-01T00:00", 1, "2024-01-01T00:00", "2024-02-01T00:00"),
        ("2024-03-01T00:00", 2, "2024-02-01T00:00", "2024-03-01T00:00"),
        ("2024-04-01T00:00", 1, "2024-03-01T00:00", "2024-04-01T00:00"),
    ]


def test_a_local_day_has_23_hours_in_spring_and_25_in_autumn() -> None:
    """In Paris clocks go from 02:00 to 03:00 on 31 March 2024, and from 03:00 to 02:00 on 27 October."""
    days = tumble("1 day", zone="Europe/Paris")
    assert counted(days, "2024-03-30T23:00:00Z", "2024-03-31T21:59:59Z", "2024-03-31T22:00:00Z") == [
        ("2024-03-31T22:00", 2, "2024-03-30T23:00", "2024-03-31T22:00"),
    ]
    assert counted(days, "2024-10-26T22:00:00Z", "2024-10-27T22:59:59Z", "2024-10-27T23:00:00Z") == [
        ("2024-10-27T23:00", 2, "2024-10-26T22:00", "2024-10-27T23:00"),
    ]


def test_an_offset_is_one_of_the_local_clock() -> None:
    """From 06:00 to 06:00 in Paris: 05:00 UTC in winter, 04:00 in summer."""
    assert counted(tumble("1 day", "6 h", "Europe/Paris"), "2024-03-30T05:00:00Z", "2024-03-31T04:00:00Z") == [
        ("2024-03-31T04:00", 1, "2024-03-30T05:00", "2024-03-31T04:00"),
    ]


def test_a_month_after_the_last_of_january_is_the_last_of_february() -> None:
    """The windows that begin on 28, 29, 30 and 31 January 2023 all end on 28 February: the last one shows. Until the
    window that begins on 1 March ends, that of 28 February stays."""
    spec = hop("1 month", "1 day")
    assert counted(spec, "2023-01-30T12:00:00Z", "2023-01-31T12:00:00Z", until="2023-02-28")[-1] == (
        "2023-02-28T00:00",
        1,
        "2023-01-31T00:00",
        "2023-02-28T00:00",
    )
    found = counted(spec, "2023-03-15T00:00:00Z", until="2023-04-01")
    assert [t for t, *_ in found[-2:]] == ["2023-03-28T00:00", "2023-04-01T00:00"]


@pytest.mark.parametrize(
    ("spec", "begins", "ends"),
    [
        (tumble("1 week"), "2024-01-04", "2024-01-11"),  # a Thursday
        (tumble("1 week", "4 days"), "2024-01-08", "2024-01-15"),  # a Monday
        (tumble("1 week", "4 days", "Europe/Paris"), "2024-01-07T23:00", "2024-01-14T23:00"),
        (tumble("1 quarter"), "2024-01-01", "2024-04-01"),
        (tumble("1 year"), "2024-01-01", "2025-01-01"),
        (hop("10 days", "1 month"), "2024-01-01", "2024-01-11"),
        (hop("6 h", "1 day", zone="Asia/Kolkata"), "2024-01-09T18:30", "2024-01-10T00:30"),
    ],
    ids=str,
)
def test_steps_begin_at_midnights_from_the_epoch_on(spec: WindowSpec, begins: str, ends: str) -> None:
    """All of these windows hold the 9th of January, 20:00 UTC, and end next after it."""
    first = counted(spec, "2024-01-09T20:00:00Z", until="2025-01-01")[0]
    assert first[2:] == tuple(_short(instant(t)) for t in (begins, ends))


def test_the_last_month_of_the_timeline_never_ends() -> None:
    assert counted(tumble("1 month"), "9999-11-30T00:00:00Z", "9999-12-31T23:00:00Z") == [
        ("9999-12-01T00:00", 1, "9999-11-01T00:00", "9999-12-01T00:00"),
    ]


def test_a_day_that_the_clocks_leave_out_has_no_window() -> None:
    """Samoa went from 29 to 31 December 2011."""
    apia = tumble("1 day", zone="Pacific/Apia")
    assert counted(apia, "2011-12-29T12:00:00Z", "2011-12-30T12:00:00Z", until="2012-01-01") == [
        ("2011-12-30T10:00", 1, "2011-12-29T10:00", "2011-12-30T10:00"),
        ("2011-12-31T10:00", 1, "2011-12-30T10:00", "2011-12-31T10:00"),
    ]
