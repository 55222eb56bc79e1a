"""A selection on the time of a source's tuples reads the attribute that holds it, which readers of files understand.

SELECT _t >= TIMESTAMP '…'               SELECT ts >= TIMESTAMP '…'
└─ STREAM s TIMESTAMP BY ts       →      └─ STREAM s TIMESTAMP BY ts
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import Select
from astralq.algebra.sources import StreamSource
from astralq.algebra.windows import range_
from astralq.expr.conditions import substituted
from astralq.expr.nodes import Column
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import LAST, Random, W, at
from astralq.laws.shapes import stamps_read
from astralq.schema import TIMESTAMP
from astralq.timeline import Instant

LAW = "σ_{c(t)} S ≡ σ_{c(ts)} S, where S is stamped by its attribute ts"
PAPERS = "001 D13; 003 receive"
HOLDS = Holds.EXACTLY
STAMPED = "stamped by that attribute"
CONDITIONS = {STAMPED: "the selection is over the source itself, whose timestamps are those of the attribute"}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(child, condition) if "_t" in stamps_read(condition, child.schema):
            source = child if isinstance(child, StreamSource) else None
            stamp = None if source is None or source.stamped_by is None else source.declared[source.stamped_by]
            if stamp is None or stamp.type != TIMESTAMP:
                stamp = next((a for a in child.schema if a.type == TIMESTAMP), None)
                if stamp is None:
                    return None
                why = f"{stamp.name} is not what stamps the tuples of {child.label}"
                if not site.require(STAMPED, False, why, op.label):
                    return None
            return Select(child, substituted(condition, {"_t": Column(TIMESTAMP, stamp.name)}))
    return None


REFUSED = (
    Refused(
        "the time of emission",
        STAMPED,
        W[range_("2 us", slide="2 us")].istream().where(f"_t >= {at(2)}"),
        {"W": [(1, 1, Instant(1)), (0, 0, Instant(3))]},
        "the tuple of 1 is emitted at 2",
    ),
)


def drawn(random: Random) -> Operator:
    s = random.one([W, W, W[range_("2 us", slide="2 us")].istream(), W.spread("a")])
    t = at(random.number(0, LAST))
    return s.where(random.one([f"_t >= {t}", f"_t < {t} AND a = 1", f"_t BETWEEN {t} AND {at(LAST)}"])).operator
