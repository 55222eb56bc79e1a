"""A projection that drops attributes moves below a streamer where φ determines the values; a renaming moves above it.

    PROJECT a            ISTREAM
    └─ ISTREAM     →     └─ PROJECT a
       └─ r                 └─ r

Not over an aggregate: its row keeps its φ while its values change, and ISTREAM emits it when a dropped value changes.
"""

from __future__ import annotations

from astralq.algebra.base import Kind, Operator
from astralq.algebra.relational import Project, Rename
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.windows import last_batch, unbounded
from astralq.expr.safety import movable
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import Random, S, tuples, us
from astralq.laws.shapes import CANNOT_FAIL, stamps_read

LAW = "Π_A(I_S(R)) ≡ I_S(Π_A R) where φ determines the attributes; the same for D_S; for R_S^r always; ρ always"
PAPERS = "001 P7"
HOLDS = Holds.EXACTLY
BY_PHI = "told apart by φ"
ON_STAMPS = "not on stamps"
CONDITIONS = {
    BY_PHI: "the streamer is RSTREAM with a period, or one by φ over a relation whose φ determines the values",
    ON_STAMPS: "the projection does not read the stamps that the streamer gives",
    CANNOT_FAIL: "no expression can fail: below it is computed on rows that are not emitted",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Project(IStream() | DStream() | RStream() as streamer, items) if len(items) < len(streamer.schema):
            why = f"not pushed below {streamer.label}: it goes by values that the projection drops"
            if not site.require(BY_PHI, _by_phi(streamer, site), why, op.label):
                return None
            stamped = any(stamps_read(e, streamer.schema) for _, e in items)
            if not site.require(ON_STAMPS, not stamped, f"{streamer.label} gives the stamps that are shown", op.label):
                return None
            failing = next((e for _, e in items if not movable(e)), None)
            why = f"{failing} can fail, also on rows that are not emitted"
            if not site.require(CANNOT_FAIL, failing is None, why, op.label):
                return None
            if any(not e.columns <= {n.lower() for n in streamer.child.readable.names} for _, e in items):
                return None
            return streamer.with_children(Project(streamer.child, items))
        case IStream(Rename() as renaming) | DStream(Rename() as renaming) | RStream(Rename() as renaming):
            return renaming.with_children(op.with_children(renaming.child))
    return None


def _by_phi(streamer: Operator, site: Site) -> bool:
    match streamer:
        case RStream():
            return streamer.every is not None or streamer.child.kind is Kind.WINDOWS
        case IStream(identity=Identity.PHI) | DStream(identity=Identity.PHI):
            relation = streamer.child
            return relation.kind is Kind.RELATION and site.properties(relation).phi_determines_values
    return False


_COUNTED = S[unbounded()].aggregate("count(*) AS n", by="a")
REFUSED = (
    Refused(
        "an aggregate",
        BY_PHI,
        _COUNTED.istream().select("a"),
        {"S": tuples((1, 1, 1), (2, 1, 1))},
        "the group's row changes in n, which is dropped (001 P7)",
    ),
    Refused(
        "insertions by value",
        BY_PHI,
        S[last_batch()].istream(by_value=True).select("a"),
        {"S": tuples((1, 1, 1), (2, 1, 2))},
        "both tuples have the same a, and the second one differs in b",
    ),
    Refused(
        "the position of what is emitted",
        ON_STAMPS,
        S[unbounded()].where("a = 1").istream().select("_n AS p"),
        {"S": tuples((1, 0, 0), (2, 1, 1))},
        "the second tuple is the first one that is emitted",
    ),
    Refused(
        "a division by what is not deleted",
        CANNOT_FAIL,
        S[unbounded()].dstream().select("1 / b AS q"),
        {"S": tuples((1, 1, 0))},
        "nothing is deleted, so that nobody divides by 0",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation(2)
    if random.chance(0.2):
        return random.one([r.rename({"a": "c"}).istream(), r.rename({"b": "c"}).rstream()]).operator
    every = us(random.number(1, 3)) if random.chance(0.4) else None
    by_value = random.chance(0.2)
    streamed = random.one([r.istream(every, by_value=by_value), r.dstream(every, by_value=by_value), r.rstream(every)])
    if random.chance(0.1):
        streamed = random.stream().windows("2 us", "0 us", "1 us").rstream()
    return streamed.select(random.one(["a", "b", "b AS a", "_n AS p", "coalesce(a, b) AS c", "1 / b AS q"])).operator
