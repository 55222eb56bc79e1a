"""A lookup goes by the batches of the stream as the join has it, so that the stream is computed once.

JOIN                                       JOIN
├─ WINDOW [LAST BATCH]                     ├─ WINDOW [LAST BATCH]
│  └─ PROJECT a                     →      │  └─ PROJECT a
│     └─ STREAM s                          │     └─ STREAM s
└─ AT THE LAST BATCH OF                    └─ AT THE LAST BATCH OF
   ├─ r                                       ├─ r
   └─ STREAM s                                └─ PROJECT a
                                                 └─ STREAM s
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.domain import Domain, LastBatchOf, at_last_batch
from astralq.algebra.fluent import RelationQuery
from astralq.algebra.properties import expressions
from astralq.algebra.relational import Join, Project, Rename, Select
from astralq.algebra.streamers import IStream
from astralq.algebra.windows import Window, last_batch
from astralq.expr.nodes import Expr
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import Random, S, V, tuples
from astralq.laws.shapes import CANNOT_FAIL
from astralq.timeline import Instant

LAW = "D^{τ∘τ⁻¹_S}(R) ≡ D^{τ∘τ⁻¹_S'}(R) for S' = Π_A S"
PAPERS = "001 D33"
HOLDS = Holds.EXACTLY
BATCHES = "the same batches"
CONDITIONS = {
    BATCHES: "both streams are projections or renamings of one: a selection leaves batches out",
    CANNOT_FAIL: "no expression of the projections that are left out can fail",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Join(left, Domain(relation, LastBatchOf(), other=Operator() as looked_up) as past):
            while isinstance(left, Select | Project | Rename):
                left = left.child
            match left:
                case Window(stream, spec) if spec == last_batch() and stream != looked_up:
                    if _base(stream) != _base(looked_up):
                        if _base(stream, through=Select) != _base(looked_up, through=Select):
                            return None
                        why = "a selection leaves batches out, at which the relation is looked up"
                        if not site.require(BATCHES, False, why, op.label):
                            return None
                    failing = next((e for e in _computed(looked_up) if can_fail(e)), None)
                    if not site.require(CANNOT_FAIL, failing is None, f"{failing} can fail, and would go", op.label):
                        return None
                    return op.with_children(op.left, past.with_children(relation, stream))
    return None


def _computed(stream: Operator) -> list[Expr]:
    """The expressions of projections at the top of a stream."""
    found: list[Expr] = []
    while isinstance(stream, Project | Rename | Select):
        found += expressions(stream)
        stream = stream.child
    return found


def _base(stream: Operator, through: type[Operator] = Project) -> Operator:
    while isinstance(stream, Project | Rename | through):
        stream = stream.children[0]
    return stream


_R = V.select("a AS c", "b AS d")


def _looked_up(left: Operator, of: Operator, relation: Operator = _R.operator) -> Operator:
    joined = RelationQuery(Window(left, last_batch())).join(RelationQuery(at_last_batch(relation, of)), on="a = c")
    return IStream(joined.operator)


REFUSED = (
    Refused(
        "a division that nobody shows",
        CANNOT_FAIL,
        _looked_up(S.operator, S.select("1 / b AS q").operator),
        {"S": tuples((1, 1, 0)), "V": []},
        "the division by 0 is an error, also where only the batches of its stream count",
    ),
    Refused(
        "a selection",
        BATCHES,
        _looked_up(S.where("a = 1").operator, S.operator),
        {"S": tuples((1, 1, 1), (3, 0, 0)), "V": [(1, 7, Instant(2), None)]},
        "the relation is looked up anew at 3, when a tuple comes that is selected away",
    ),
)


def drawn(random: Random) -> Operator:
    s = random.stream()
    left = random.one([s.select("a"), s.select("b", "a"), s.where(random.condition(s.operator)).select("a"), s])
    return _looked_up(
        left.operator,
        random.one([s, s.select("a", "b AS z"), s.select("1 / b AS q")]).operator,
        random.aside().operator,
    )
