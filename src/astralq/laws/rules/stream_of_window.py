"""A stream is what its windows insert: a streamer over a window that every tuple enters at once is left out.

    ISTREAM                              SELECT v > 20
    └─ SELECT v > 20              →      └─ STREAM s
       └─ WINDOW [LAST BATCH]
          └─ STREAM s

Not over `[ROWS 1]`, where of two tuples of a batch only one is ever seen, nor over a window that ends k tuples ahead
(001 prints P3 for it): nothing comes until position k, then k + 1 tuples at once.
"""

from __future__ import annotations

from astralq.algebra.base import Kind, Operator
from astralq.algebra.properties import expressions
from astralq.algebra.relational import Project, Rename, Select
from astralq.algebra.retention import enters_at_once
from astralq.algebra.schedules import Measure
from astralq.algebra.sources import StartedAt
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.windows import Window, WindowSpec, general, last_batch, range_, rows, unbounded
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import Random, S, tuples
from astralq.laws.shapes import POSITIONS, stamps_read
from astralq.model.values import Stream
from astralq.timeline import BatchId, Instant

LAW = "S ≡ I_S(S[B]) ≡ I_S(S[∞]) ≡ R_S^u(S[B]); σ_c S ≡ I_S(σ_c S[B])"
PAPERS = "001 P3, C2, C3; D30"
HOLDS = Holds.EXACTLY
AT_ONCE = "each tuple once, when it comes"
OWN_START = "no start of its own"
CONDITIONS = {
    AT_ONCE: "the streamer emits each tuple of the window once, and the window holds it from its own batch on",
    OWN_START: "the stream has no tuples before the run begins, as that of a view with a start of its own can have",
    POSITIONS: "no expression above a selection reads positions, which a selection of a stream numbers anew",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    if not isinstance(op, IStream | DStream | RStream) or op.child.kind is not Kind.RELATION:
        return None
    chain: list[Operator] = []
    below = op.child
    while isinstance(below, Select | Project | Rename):
        chain.append(below)
        below = below.child
    if not isinstance(below, Window):
        return None
    why = f"not left out: {op.label} over {below.spec} does not emit each tuple once, when it comes"
    if not site.require(AT_ONCE, _emits_each_once(op, below.spec), why, op.label):
        return None
    started = any(isinstance(o, StartedAt) for o in below.child.walk())
    why = "a view with a start of its own may have tuples before this query begins, which are reported at its start"
    if not site.require(OWN_START, not started, why, op.label):
        return None
    if not site.require(POSITIONS, not _reads_positions(chain), "positions are read above a selection", op.label):
        return None
    stream = below.child
    for c in reversed(chain):
        stream = c.with_children(stream)
    return stream


def _emits_each_once(streamer: Operator, spec: WindowSpec) -> bool:
    match streamer:
        case IStream(every=None, identity=Identity.PHI):
            return enters_at_once(spec) or _is_last_batch(spec)
        case RStream(every=None, on_insert=False):
            return _is_last_batch(spec) and not spec.partition
    return False


def _is_last_batch(spec: WindowSpec) -> bool:
    return spec.scope.measure is Measure.POSITION and spec == last_batch().by(*spec.partition)


def _reads_positions(chain: list[Operator]) -> bool:
    """Whether an operator above a selection reads positions; the chain is from the top down."""
    for k, op in enumerate(chain):
        selects = any(isinstance(c, Select) for c in chain[k + 1 :])
        if selects and any("_n" in stamps_read(e, op.children[0].schema) for e in expressions(op)):
            return True
    return False


_TWO_AT_ONCE = Stream.of((BatchId(Instant(1), 0), (v, v)) for v in (1, 2))
REFUSED = (
    Refused(
        "the last row",
        AT_ONCE,
        S[rows(1)].istream(),
        {"S": _TWO_AT_ONCE},
        "of two tuples of one batch only the last one is ever in the window",
    ),
    Refused(
        "a window that ends ahead",
        AT_ONCE,
        S[general((0, 0), (1, 1), 1)].istream(),
        {"S": tuples((1, 1, 1), (2, 2, 2))},
        "001 P3 with k = 1: nothing is emitted until position 1, then two tuples at once",
    ),
    Refused(
        "updates of everything",
        AT_ONCE,
        S[unbounded()].rstream(),
        {"S": tuples((1, 1, 1), (2, 2, 2))},
        "the first tuple is emitted again with the second one",
    ),
    Refused(
        "insertions by value",
        AT_ONCE,
        S[last_batch()].istream(by_value=True),
        {"S": tuples((1, 1, 1), (2, 1, 1))},
        "the second tuple has the values of the first one, and is no insertion",
    ),
    Refused(
        "positions",
        POSITIONS,
        S[range_("4 us")].where("a = 1").select("_n AS p").istream(),
        {"S": tuples((1, 0, 0), (2, 1, 1))},
        "the second tuple is the first of the selected ones",
    ),
    Refused(
        "a view that has started before",
        OWN_START,
        S[range_("5 us")].dstream().started_at(Instant(-10))[unbounded()].istream(),
        {"S": tuples((-5, 1, 1), (3, 2, 2))},
        "what the view emits at 1 is reported when the query begins, at 3",
    ),
)


def drawn(random: Random) -> Operator:
    stream = random.stream()
    if random.chance(0.1):
        stream = S[range_("3 us")].dstream().started_at(Instant(random.number(-4, 4)))
    window = stream[random.one([last_batch(), unbounded(), range_("3 us"), random.window()])]
    if random.chance(0.3):
        window = window.where(random.condition(window.operator))
    if random.chance(0.3):
        window = random.one([window.select("b", "a AS z"), window.select("a", "_n AS p"), window.rename({"a": "z"})])
    streamers = [window.istream(), window.istream(), window.rstream(), window.istream(by_value=True), window.dstream()]
    return random.one(streamers).operator
