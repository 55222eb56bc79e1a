"""A selection moves below ISTREAM, DSTREAM and the periodic RSTREAM, if it does not read their stamps.

    SELECT v > 20            ISTREAM
    └─ ISTREAM        →      └─ SELECT v > 20
       └─ r                     └─ r

Not below RSTREAM on update: a tuple that is selected away changes the state, which is emitted again.
"""

from __future__ import annotations

from astralq.algebra.base import Kind, Operator
from astralq.algebra.relational import Select
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.algebra.windows import range_, unbounded
from astralq.expr.nodes import Expr
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import Random, S, at, tuples, us
from astralq.laws.shapes import CANNOT_FAIL, POSITIONS, divided, selected, stamps_read

LAW = "σ_c(I_S(R)) ≡ I_S(σ_c R); the same for D_S and R_S^r"
PAPERS = "001 P7, C4"
HOLDS = Holds.EXACTLY
STREAMER = "by changes or by period"
ON_STAMPS = "not on stamps"
CONDITIONS = {
    STREAMER: "the streamer is ISTREAM, DSTREAM, or RSTREAM with a period or over windows",
    ON_STAMPS: "the condition does not read the stamps that the streamer gives",
    CANNOT_FAIL: "the condition cannot fail: below it is computed on rows that are not emitted",
    POSITIONS: "no condition that stays above reads positions",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(IStream() | DStream() | RStream() as streamer):
            update = isinstance(streamer, RStream) and streamer.every is None and streamer.child.kind is Kind.RELATION

            def fits(c: Expr) -> bool:
                why = f"not pushed below {streamer.label}: a row that is selected away makes it emit the others again"
                if not site.require(STREAMER, not update, why, op.label):
                    return False
                stamped = stamps_read(c, op.schema)
                why = f"{c} reads stamps, which {streamer.label} gives"
                if not site.require(ON_STAMPS, not stamped, why, op.label):
                    return False
                return c.columns <= {n.lower() for n in streamer.child.readable.names}

            moved, kept = divided(op, site, fits, renumbers=True)
            if moved:
                return selected(streamer.with_children(selected(streamer.child, moved)), kept)
    return None


REFUSED = (
    Refused(
        "updates",
        STREAMER,
        S[unbounded()].rstream().where("a = 1"),
        {"S": tuples((1, 1, 1), (2, 0, 0))},
        "the second tuple changes the state, so that the first one is emitted again (001 P7)",
    ),
    Refused(
        "the time of emission",
        ON_STAMPS,
        S[range_("2 us", slide="2 us")].istream().where(f"_t >= {at(2)}"),
        {"S": tuples((1, 1, 1), (3, 0, 0))},
        "the tuple came at 1 and is emitted at 2",
    ),
    Refused(
        "a division by what is not deleted",
        CANNOT_FAIL,
        S[unbounded()].dstream().where("1 / b > 0"),
        {"S": tuples((1, 1, 0))},
        "nothing is deleted, so that nobody divides by 0",
    ),
    Refused(
        "positions",
        POSITIONS,
        S[unbounded()].istream().where("a = 1 AND _n > 0"),
        {"S": tuples((1, 0, 0), (2, 1, 1))},
        "the second emitted tuple is the first of the selected ones",
    ),
)


def drawn(random: Random) -> Operator:
    if random.chance(0.15):
        windows = random.stream().windows(us(random.number(0, 4)), "0 us", us(random.number(1, 3)))
        streamed = random.one([windows.rstream(), windows.istream(), windows.dstream()])
    else:
        r = random.relation(2)
        every = us(random.number(1, 3)) if random.chance(0.4) else None
        by_value = random.chance(0.3)
        streamed = random.one(
            [
                r.istream(every, by_value=by_value),
                r.dstream(every, by_value=by_value),
                r.rstream(every),
                r.rstream(on_insert=True),
            ]
        )
    return streamed.where(random.condition(streamed.operator, fails=0.1)).operator
