"""Panes in common: where time is cut for several windows, and when that is too fine."""

from __future__ import annotations

import pytest

from astralq import hop, range_, rows, tumble
from astralq.algebra.panes import PaneGrid
from astralq.algebra.windows import WindowSpec
from astralq.sharing.panes import fits_grid, pane_grid, panes_are_fewer, panes_pay
from astralq.timeline import EPOCH, Instant, duration

SECOND = duration("1 s")


def grid(*specs: WindowSpec, t0: Instant = EPOCH) -> PaneGrid:
    found = pane_grid([(spec, t0) for spec in specs])
    assert not isinstance(found, str)
    return found


def test_the_panes_of_two_windows_are_as_long_as_both_slides_allow() -> None:
    assert grid(range_("10 min", slide="5 min"), range_("1 h", slide="15 min")).step == duration("5 min")


def test_closed_bounds_leave_instants_of_evaluations_a_pane_of_their_own() -> None:
    found = grid(range_("4 s", slide="2 s"))
    assert found.after == (0, 2 * SECOND - 1)
    assert [found.last(t) for t in (1, 2 * SECOND - 1, 2 * SECOND)] == [2 * SECOND - 1, 2 * SECOND - 1, 2 * SECOND]


def test_half_open_windows_have_one_pane_for_each_step() -> None:
    assert grid(tumble("2 s"), hop("6 s", "2 s")).after == (2 * SECOND - 1,)


def test_the_start_of_a_query_is_between_two_panes() -> None:
    found = pane_grid([(tumble("2 s"), EPOCH), (tumble("2 s"), Instant(SECOND))])
    assert not isinstance(found, str)
    assert SECOND - 1 in found.after


@pytest.mark.parametrize("spec", [rows(3), range_("3 s")])
def test_windows_that_do_not_move_in_steps_of_time_have_no_panes(spec: WindowSpec) -> None:
    assert isinstance(pane_grid([(spec, EPOCH)]), str)


def test_windows_of_60_and_61_seconds_do_not_pay() -> None:
    both = [range_("60 s", slide="60 s"), range_("61 s", slide="61 s")]
    found = grid(*both)
    assert not panes_pay(found, 2, 2.0, 2_000_000, duration("1 day"), 100)
    assert not panes_are_fewer(found, [(spec, EPOCH) for spec in both])


def test_a_hundred_sizes_pay() -> None:
    sizes = [range_(f"{10 * n} min", slide="10 min") for n in range(1, 101)]
    assert panes_pay(grid(*sizes), 100, 100.0, 2_000_000, duration("1 day"), 100)
    assert panes_are_fewer(grid(*sizes), [(spec, EPOCH) for spec in sizes])


def test_a_window_fits_panes_that_are_there_if_none_crosses_its_bounds() -> None:
    there = grid(range_("10 min", slide="5 min"))
    assert fits_grid(range_("1 h", slide="15 min"), EPOCH, there)
    assert not fits_grid(range_("1 h", slide="12 min"), EPOCH, there)
    assert not fits_grid(range_("1 h", slide="15 min"), Instant(SECOND), there)
