"""A selection moves below a window by time, below one that keeps everything, and on its key below a partitioned one.

    SELECT v > 20                        WINDOW [RANGE 1 HOUR SLIDE 1 MINUTE]
    └─ WINDOW [RANGE 1 HOUR …]     →     └─ SELECT v > 20
       └─ STREAM s                          └─ STREAM s

Not below `[ROWS 3]`: the warm ones among the last three are not the last three warm ones.
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import Select
from astralq.algebra.retention import holds_all_at_once
from astralq.algebra.schedules import Measure, Sessions
from astralq.algebra.scopes import Back, BatchStart, OfInstant
from astralq.algebra.sneeql import RowWindows, TimeWindows
from astralq.algebra.windows import Window, WindowSpec, range_, rows, session, unbounded
from astralq.expr.conditions import conjunction
from astralq.expr.nodes import Expr
from astralq.expr.parse import expression
from astralq.laws.rule import UNOBSERVED, Holds, Refused, Site
from astralq.laws.samples import Random, S, tuples, us
from astralq.laws.shapes import CANNOT_FAIL, POSITIONS, divided, selected

LAW = "σ_c(S[α, β, r]) ≡ (σ_c S)[α, β, r]"
PAPERS = "001 P5, P6; 000 P2, P3"
HOLDS = Holds.UP_TO_PHI
BY_TIME = "by time or by key"
CONDITIONS = {
    BY_TIME: "rate and bounds of the window are times, and not sessions; or it keeps everything; or the condition is "
    "on its partition",
    CANNOT_FAIL: "the condition cannot fail: below the window it is computed on tuples that no state holds",
    POSITIONS: "no condition that stays above reads positions",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(Window(stream, spec) as window):
            partition = {n.lower() for n in spec.partition}
            sessions = isinstance(spec.schedule, Sessions)  # which depend on the tuples between
            free = (spec.measures == {Measure.TIME} and not sessions) or holds_all_at_once(spec)
            # Bounds by a function of positions may turn out wrong in any part, when it is evaluated.
            checked_late = isinstance(spec.scope.hi, OfInstant) or isinstance(spec.scope.lo, OfInstant)

            def fits(c: Expr) -> bool:
                by_key = bool(partition) and c.columns <= partition and not checked_late
                why = _why(c, str(spec), _rows(spec))
                if sessions:
                    why = f"not pushed below {spec}: rows without {c} are in its sessions, too"
                return site.require(BY_TIME, free or by_key, why, op.label)

        case Select(TimeWindows(stream) | RowWindows(stream) as window):
            by_time = isinstance(window, TimeWindows)

            def fits(c: Expr) -> bool:
                return site.require(BY_TIME, by_time, _why(c, window.label.removeprefix("WINDOWS "), None), op.label)

        case _:
            return None
    moved, kept = divided(op, site, fits, renumbers=True)
    return selected(window.with_children(selected(stream, moved)), kept) if moved else None


def _rows(spec: WindowSpec) -> str | None:
    """Which rows a window by rows has, in words."""
    match spec.scope.lo:
        case BatchStart():
            return "last batch"
        case Back(amount) if spec.scope.measure is Measure.POSITION:
            return "last row" if amount == 0 else f"last {amount + 1} rows"
    return None


def _why(condition: Expr, window: str, held: str | None) -> str:
    if held is None:
        return f"not pushed below {window}: it counts the rows without {condition}, too"
    return f"not pushed below {window}: those with {condition} among the {held} are not the {held} among those"


REFUSED = (
    Refused(
        "rows",
        BY_TIME,
        S[rows(2)].where("a = 1"),
        {"S": tuples((1, 1, 1), (2, 0, 0), (3, 0, 0))},
        "the ones among the last two are not the last two ones (001 example 14)",
    ),
    Refused(
        "a row rate",
        BY_TIME,
        S[range_("3 us", slide=2)].where("a = 1"),
        {"S": tuples((1, 1, 1), (2, 0, 0), (3, 0, 0))},
        "the window is evaluated at every second tuple, and the selected stream has other positions",
    ),
    Refused(
        "sessions",
        BY_TIME,
        S[session("3 us")].where("a = 1"),
        {"S": tuples((1, 1, 1), (3, 0, 0), (5, 1, 1), (9, 0, 0))},
        "the tuple of 3 makes one session of the others, which is over at 8 and not at 4",
    ),
    Refused(
        "a division",
        CANNOT_FAIL,
        S[range_("1 us", slide="4 us")].where("1 / b > 0"),
        {"S": tuples((1, 1, 0), (4, 1, 1))},
        "the first tuple is in no window, so that nobody divides by its 0",
    ),
    Refused(
        "positions",
        POSITIONS,
        S[rows(1).by("a")].where("a = 1 AND _n > 1"),
        {"S": tuples((1, 0, 0), (2, 0, 0), (3, 1, 1))},
        "the third tuple is the first of the selected ones",
    ),
    Refused(
        "intersection by φ",
        UNOBSERVED,
        S[range_("4 us")].where("a = 1").intersection(S[unbounded()]),
        {"S": tuples((1, 0, 0), (2, 1, 1))},
        "D36 is no congruence: the selected tuple has another position, and is in the intersection no more",
    ),
)


def drawn(random: Random) -> Operator:
    if random.chance(0.15):
        windows = random.stream().windows(us(random.number(0, 4)), "0 us", us(random.number(1, 3)))
        return windows.where(random.condition(windows.operator)).rstream().operator
    window = random.stream()[random.window()]
    if random.chance(0.3):
        key = random.one(["a", "b"])
        window = random.stream()[random.window().by(key)]
        condition = random.condition(window.operator, [key])
        above = [expression("_n > 1", window.operator.readable)] if random.chance(0.3) else []
        return window.where(conjunction([condition, *above])).operator
    return window.where(random.condition(window.operator)).operator
