"""A projection that drops attributes moves below a window; a renaming moves above it, so that windows are alike.

PROJECT a                    WINDOW [ROWS 3]              WINDOW [ROWS 3]             RENAME a AS b
└─ WINDOW [ROWS 3]     →     └─ PROJECT a         and     └─ RENAME a AS b     →      └─ WINDOW [ROWS 3]
   └─ STREAM s                  └─ STREAM s                  └─ STREAM s                 └─ STREAM s
"""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.base import Operator
from astralq.algebra.relational import Project, Rename
from astralq.algebra.schedules import Measure
from astralq.algebra.windows import Window, range_, rows
from astralq.expr.nodes import Column
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import P, Random, S, tuples
from astralq.laws.shapes import CANNOT_FAIL

LAW = "Π_A(S[α, β, r]) ≡ (Π_A S)[α, β, r]; the same for ρ"
PAPERS = "001 P4; 000 P1"
HOLDS = Holds.EXACTLY
PARTITION = "keeps the partition"
CONDITIONS = {
    PARTITION: "the projection keeps what the window is partitioned by",
    CANNOT_FAIL: "no expression can fail: below the window it is computed on tuples that no state holds",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Project(Window(stream, spec), items) if len(items) < len(stream.schema):
            below = Project(stream, items)
            if Measure.DISTANCE in spec.measures and below.schema.location is None:
                return None
            new = {e.name.lower(): name for name, e in reversed(items) if isinstance(e, Column)}
            dropped = [n for n in spec.partition if n.lower() not in new]
            why = f"{', '.join(dropped)} is needed below, to tell the parts of {spec} apart"
            if not site.require(PARTITION, not dropped, why, op.label):
                return None
            failing = next((e for _, e in items if can_fail(e)), None)
            why = f"{failing} can fail, and would be computed on tuples that no state holds"
            if not site.require(CANNOT_FAIL, failing is None, why, op.label):
                return None
            partition = tuple(new[n.lower()] for n in spec.partition if n.lower() in new)
            return Window(below, replace(spec, partition=partition))
        case Window(Rename(stream, pairs) as renaming, spec):
            old = {new.lower(): name for name, new in pairs}
            partition = tuple(old.get(n.lower(), n) for n in spec.partition)
            return renaming.with_children(Window(stream, replace(spec, partition=partition)))
    return None


REFUSED = (
    Refused(
        "what the parts are told apart by",
        PARTITION,
        S[rows(1).by("a")].select("b"),
        {"S": tuples((1, 1, 1), (2, 2, 2))},
        "each part keeps its last tuple",
    ),
    Refused(
        "a division",
        CANNOT_FAIL,
        S[range_("1 us", slide="4 us")].select("1 / b AS q"),
        {"S": tuples((1, 1, 0), (4, 1, 1))},
        "the first tuple is in no window, so that nobody divides by its 0",
    ),
)


def drawn(random: Random) -> Operator:
    if random.chance(0.2):
        moved = P[random.moving_window()]
        return moved.select(*random.one([["a", "x", "y"], ["a"], ["b", "_n AS p"]])).operator
    window = random.window()
    if random.chance(0.3):
        named = window.by("c") if window.partition == ("a",) else window
        return random.stream().rename({"a": "c"})[named].operator
    return (
        random.stream()[window]
        .select(random.one(["a", "b AS a", "_n AS p", "coalesce(a, b) AS c", "1 / b AS q"]))
        .operator
    )
