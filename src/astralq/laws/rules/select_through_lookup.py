"""A selection on the stream of a lookup join moves to the stream, and to the batches that the lookup goes by.

    s LOOKUP JOIN r WHERE s.v > 20      →      (s WHERE v > 20) LOOKUP JOIN r

Not through `s JOIN r` (001 remark 1): a tuple that is selected away can no longer replace the last batch, and the
batch before it meets changes of r that it never met.
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.domain import Domain, LastBatchOf
from astralq.algebra.fluent import RelationQuery, StreamQuery
from astralq.algebra.relational import Join, JoinKind, Select
from astralq.algebra.streamers import Identity, IStream
from astralq.algebra.windows import Window, last_batch
from astralq.expr.nodes import Expr
from astralq.expr.safety import can_fail
from astralq.laws.lower import lower
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import Random, S, V, tuples
from astralq.laws.shapes import CANNOT_FAIL, expressions_below
from astralq.timeline import Instant

LAW = "I_S(σ_c(S[B]) ⋈ D^{τ∘τ⁻¹_S}(R)) ≡ (σ_c S) ⋉ R: σ_c(S ⋉ R) ≡ (σ_c S) ⋉ R for c on S"
PAPERS = "001 D33, remark 1"
HOLDS = Holds.EXACTLY
AT_ARRIVAL = "decided at arrival"
KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
"""Joins that emit tuples of the stream only."""

CONDITIONS = {
    AT_ARRIVAL: "the relation is looked up as of the last batch of the same stream",
    CANNOT_FAIL: "nothing in the relation, nor the join's condition, can fail: they are computed at fewer batches",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case IStream(Join(Select(Window(stream, spec)) as select, right) as join, None, Identity.PHI):
            if spec != last_batch() or join.how not in KINDS:
                return None
        case _:
            return None
    lookup = isinstance(right, Domain) and isinstance(right.transform_, LastBatchOf) and right.other == stream
    why = "not pushed below the last batch: the batches that it leaves would meet later changes of the relation"
    if not site.require(AT_ARRIVAL, lookup, why, select.label):
        return None
    failing = next((e for e in (join.condition, *expressions_below(right.children[0])) if can_fail(e)), None)
    why = f"{failing} can fail, and would be computed at fewer batches"
    if not site.require(CANNOT_FAIL, failing is None, why, select.label):
        return None
    chosen = select.with_children(stream)
    past = right.with_children(right.children[0], chosen) if lookup else right
    return op.with_children(join.with_children(Window(chosen, spec), past))


_R = V.select("a AS c", "b AS d")


def _joined(
    stream: StreamQuery,
    condition: Expr | str,
    how: JoinKind = JoinKind.INNER,
    *,
    lookup: bool,
    relation: RelationQuery = _R,
) -> Operator:
    """A stream join whose selection on the stream has come as far as its last batch."""
    joined = stream.lookup(relation, on="a = c") if lookup else stream.join(relation, on="a = c")
    match lower(joined.operator):
        case IStream(Join(last, right, on)):
            return IStream(Join(RelationQuery(last).where(condition).operator, right, on, how))
    raise AssertionError(joined)


REFUSED = (
    Refused(
        "a join that is no lookup",
        AT_ARRIVAL,
        _joined(S, "a = 1", lookup=False),
        {"S": tuples((1, 1, 1), (2, 2, 2)), "V": [(1, 7, Instant(3), None)]},
        "001 remark 1: when r changes at 3, the last batch of s is the second tuple",
    ),
    Refused(
        "a division in the relation",
        CANNOT_FAIL,
        _joined(S, "a = 1", lookup=True, relation=V.select("a AS c", "1 / b AS d")),
        {"S": tuples((1, 1, 1), (2, 2, 2), (3, 1, 1)), "V": [(1, 7, Instant(0), None), (5, 0, Instant(2), Instant(3))]},
        "the row with 0 is looked up at 2, when a tuple comes that is selected away",
    ),
)


def drawn(random: Random) -> Operator:
    stream = random.stream()
    how = random.one([JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI])
    condition = random.condition(stream[last_batch()].operator)
    relation = random.one([random.aside(), V.select("a AS c", "1 / b AS d")])
    return _joined(stream, condition, how, lookup=random.chance(0.7), relation=relation)
