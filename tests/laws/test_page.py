"""docs/laws.md is what the rules state, with a picture for each law that can be drawn."""

from __future__ import annotations

from astralq.laws.rules import RULES
from tests.laws.page import PAGE, PICTURES, case_to_draw, draw, page


def test_the_page_of_laws_is_up_to_date() -> None:
    """A stale page is written anew with its pictures, so that the second run passes: look at them and commit them."""
    wanted = page()
    missing = [r.name for r in RULES if case_to_draw(r) is not None and not (PICTURES / f"{r.name}.svg").exists()]
    stale = bool(missing) or not PAGE.exists() or PAGE.read_text() != wanted
    if stale:
        PAGE.write_text(wanted)
        draw(PICTURES)
    assert not stale, "docs/laws.md was out of date and has been written anew: commit it with its pictures"


def test_the_two_laws_that_the_papers_print_too_widely_are_drawn() -> None:
    """[001 P3] for windows that end ahead, [001 C5] without a band where order counts."""
    cases = {r.name: case_to_draw(r) for r in RULES}
    for name, number in (("stream_of_window", "001 P3"), ("band_order", "001 C5")):
        case = cases[name]
        assert case is not None
        assert case.why.startswith(number)
