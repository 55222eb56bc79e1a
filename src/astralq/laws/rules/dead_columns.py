"""Attributes that nobody reads are dropped below: aggregates, joins, windows and past states do without them.

    AGGREGATE avg(v) BY k                AGGREGATE avg(v) BY k
    └─ WINDOW [RANGE 1 HOUR]      →      └─ WINDOW [RANGE 1 HOUR]
       └─ STREAM s (40 attributes)          └─ PROJECT k, v
                                               └─ STREAM s

Not below DISTINCT, UNION, INTERSECT and EXCEPT, which compare whole rows.
"""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.base import Operator
from astralq.algebra.bounds import WindowBounds
from astralq.algebra.domain import Domain
from astralq.algebra.ordering import Limit, OrderBy
from astralq.algebra.properties import expressions
from astralq.algebra.relational import (
    Distinct,
    GroupBy,
    Join,
    Product,
    Project,
    Rename,
    Select,
    SetKind,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.schedules import Measure
from astralq.algebra.sneeql import RowWindows, Scan, TimeWindows, WindowsProduct
from astralq.algebra.sources import StartedAt
from astralq.algebra.stream_ops import Spread
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window, rows, tumble
from astralq.expr.nodes import SPATIAL_AGGREGATES
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, P, Random, S, tuples, us
from astralq.laws.shapes import CANNOT_FAIL, columns, names, narrowed

LAW = "Π_A(R ⋈_c Q) ≡ Π_A(Π_{A,c} R ⋈_c Π_{A,c} Q); the same for aggregates, windows, unions and past states"
PAPERS = "001 P4, §4.1; 003 §6.2"
HOLDS = Holds.EXACTLY
COMPARED = "rows are not compared"
CONDITIONS = {
    COMPARED: "no operator between compares whole rows",
    CANNOT_FAIL: "no aggregate or expression that is dropped can fail",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    new: Operator | None
    match op:
        case GroupBy(child):
            if any(a.function in SPATIAL_AGGREGATES for _, a in op.aggregates):
                return None  # it reads the location without naming it
            below = _without(child, _read(op), site)
            new = None if below is None else op.with_children(below)
        case Project(child):
            below = _without(child, _read(op), site)
            new = None if below is None else op.with_children(below)
        case Join() if op.keeps_left:
            below = _without(op.right, _read(op), site)
            new = None if below is None else op.with_children(op.left, below)
        case _:
            return None
    # Without the location of its left side a join has that of its right side.
    return None if new is None or new.schema != op.schema else new


def _read(op: Operator) -> set[str]:
    return set[str]().union(*(e.columns for e in expressions(op)))


def _without(op: Operator, wanted: set[str], site: Site) -> Operator | None:
    """The operator with fewer attributes below it, among them those that are wanted; None if nothing can be dropped."""
    if names(op.schema) <= wanted:
        return None
    match op:
        case Limit(rank=str(rank)) if rank.lower() not in wanted:
            return replace(op, rank=None)
        case Select() | OrderBy() | Limit():
            below = _without(op.child, wanted | _read(op), site)
            return None if below is None else op.with_children(below)
        case Rename():
            old = {new.lower(): name.lower() for name, new in op.names}
            below = _without(op.child, {old.get(n, n) for n in wanted}, site)
            kept = None if below is None else tuple(p for p in op.names if p[0] in below.schema)
            return None if below is None or kept is None else Rename(below, kept)
        case Project() | GroupBy():
            return _with_fewer_items(op, wanted, site)
        case (
            Window()
            | WindowBounds()
            | TimeWindows()
            | RowWindows()
            | Scan()
            | Domain()
            | Tick()
            | StartedAt()
            | Spread()
        ):
            child, *rest = op.children
            below = narrowed(child, wanted | _needed(op))
            return None if below is child else op.with_children(below, *rest)
        case Join() | Product() | WindowsProduct():
            sides = [narrowed(c, wanted | _read(op)) for c in op.children]
            same = all(a is b for a, b in zip(sides, op.children, strict=True))
            return None if same else op.with_children(*sides)
        case SetOperation(how=SetKind.UNION):
            return _narrower(op, wanted)
        case SetOperation() | ValueSetOperation() | Distinct():
            why = f"{op.label} compares whole rows"
            return _narrower(op, wanted) if site.require(COMPARED, False, why, op.label) else None
    return None


def _with_fewer_items(op: Project | GroupBy, wanted: set[str], site: Site) -> Operator | None:
    if isinstance(op, Project):
        kept = tuple(i for i in op.items if i[0].lower() in wanted) or op.items[:1]
        fewer: Operator = replace(op, items=kept)
        dropped = [e for name, e in op.items if name not in fewer.schema]
    else:
        stay = tuple(a for a in op.aggregates if a[0].lower() in wanted) or ((), op.aggregates[:1])[not op.keys]
        fewer = replace(op, aggregates=stay)
        dropped = [a for name, a in op.aggregates if name not in fewer.schema]
    if not dropped:
        return None
    failing = next((e for e in dropped if can_fail(e)), None)
    if not site.require(CANNOT_FAIL, failing is None, f"{failing} can fail, and would be dropped", op.label):
        return None
    return fewer


def _needed(op: Operator) -> set[str]:
    """What a window or spread reads itself."""
    match op:
        case Window(child, spec):
            found = {n.lower() for n in spec.partition}
            if Measure.DISTANCE in spec.measures and child.schema.location is not None:
                found |= {child.schema.location.x.lower(), child.schema.location.y.lower()}
            return found
        case Spread():
            return {n.lower() for n in op.attributes}
    return set()


def _narrower(op: Operator, wanted: set[str]) -> Operator | None:
    """Both sides without the attributes at places that nobody wants; a tuple keeps one attribute at least."""
    places = [k for k, n in enumerate(op.schema.names) if n.lower() in wanted] or [0]
    if len(places) == len(op.schema):
        return None
    sides = [Project(c, tuple(columns(c.schema)[k] for k in places)) for c in op.children]
    return op.with_children(*sides)


REFUSED = (
    Refused(
        "different rows",
        COMPARED,
        C.distinct().aggregate("count(a) AS n"),
        {"C": [(1, 1), (1, 2)]},
        "two different rows have the same a",
    ),
    Refused(
        "a difference by φ",
        COMPARED,
        S[rows(2)].difference(S[rows(2)].select("a", "a AS b")).select("a"),
        {"S": tuples((1, 1, 2))},
        "the rows are different in b",
    ),
    Refused(
        "an aggregate that fails",
        CANNOT_FAIL,
        C.aggregate("max(1 / b) AS m", "count(*) AS n", by="a").select("a", "n"),
        {"C": [(1, 0)]},
        "the division by 0 is an error, also where nobody shows the maximum",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation(2)
    t = us(random.number(1, 4))
    wide = random.one(
        [
            random.stream()[random.window()],
            random.stream().spread("a")[random.window()],
            P[random.moving_window()],
            r.join(random.aside(), on="a = c", how=random.one(["inner", "left", "semi", "full"])),
            r.product(random.aside()),
            r.union(random.relation()),
            r.difference(random.relation()),
            r.union_values(random.relation()),
            r.distinct(),
            r.delayed(t),
            r.scanned(t),
            random.stream()[tumble(t)].window_bounds(),
            r.aggregate("max(b) AS b", "min(b) AS l", by="a"),
            r.aggregate("max(1 / b) AS b", "min(b) AS l", by="a"),
            r.where(random.condition(r.operator)),
            r.order_by("b DESC"),
            r.limit(2, per=random.one([(), "a"]), by="b", rank=random.one([None, "n"])),
        ]
    )
    if random.chance(0.3):
        wide = wide.where(random.condition(wide.operator))
    x = random.one(["a", "b"]) if {"a", "b"} <= names(wide.operator.schema) else "a"
    if random.chance(0.15):
        aside = wide.rename({n: f"{n}_" for n in wide.operator.schema.names})
        return random.relation().join(aside, on=f"a = {x}_", how=random.one(["semi", "anti"])).operator
    return random.one([wide.select(x), wide.aggregate(f"count({x}) AS n"), wide.aggregate("count(*) AS n")]).operator
