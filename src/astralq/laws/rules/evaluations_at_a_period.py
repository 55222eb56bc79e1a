"""RSTREAM ON EVALUATION of windows that move every r from the start on is RSTREAM EVERY r.

ISTREAM                                             RSTREAM EVERY 10 SECONDS
└─ JOIN ON TRUE                                     └─ WINDOW [RANGE 1 MINUTE SLIDE 10 SECONDS]
   ├─ WINDOW [LAST BATCH]                              └─ STREAM s
   │  └─ EVALUATIONS OF [RANGE 1 MINUTE …]      →
   │     └─ STREAM s
   └─ AT THE LAST BATCH OF
      ├─ WINDOW [RANGE 1 MINUTE SLIDE 10 SECONDS]
      │  └─ STREAM s
      └─ EVALUATIONS OF [RANGE 1 MINUTE …]
         └─ STREAM s
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.domain import Domain, LastBatchOf
from astralq.algebra.evaluations import Evaluations
from astralq.algebra.relational import Join, JoinKind
from astralq.algebra.schedules import Anchor, Measure, Periodic
from astralq.algebra.streamers import Identity, IStream, RStream
from astralq.algebra.windows import Window, last_batch, range_
from astralq.expr.nodes import TRUE
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import Random, S, W, us
from astralq.model.values import Stream
from astralq.timeline import BatchId, Duration, Instant

LAW = "I_S(E[B] ⋈ D^{τ∘τ⁻¹_E}(R)) ≡ R_S^r(R), where E are the evaluations at t0 + k·r"
PAPERS = "001 D25, D33; 003 rStream; 004 §3.2.2"
HOLDS = Holds.EXACTLY
GRID = "a period from the start on"
BATCHES = "one batch per instant"
CONDITIONS = {
    GRID: "all windows are evaluated at t0 + k·r, or at some of these instants, without a delay",
    BATCHES: "the streams have one batch per instant: each further batch of an evaluation is one, too",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case IStream(Join(Window(Evaluations() as moments, spec), Domain(relation, LastBatchOf()) as past) as join):
            if spec != last_batch() or past.other != moments or past.during is not None or op.every is not None:
                return None
            if join.condition != TRUE or join.how is not JoinKind.INNER or op.identity is not Identity.PHI:
                return None
        case _:
            return None
    chain = _chain(moments)
    if chain[-1].also is not None:  # evaluations that are no window's own, as those of a past state
        return None
    schedules = [e.spec.schedule for e in chain]
    if not all(isinstance(s, Periodic) and s.measure is Measure.TIME for s in schedules):
        return None
    periods = [s.every for s in schedules if isinstance(s, Periodic)]
    every = min(periods)
    steady = all(isinstance(s, Periodic) and s.anchor is Anchor.T0 and s.first == 0 for s in schedules)
    on_grid = steady and all(p % every == 0 for p in periods) and not any(e.spec.delay for e in chain)
    if not site.require(GRID, on_grid, "evaluations are at other instants than t0 + k·r", op.label):
        return None
    streams = [e.child for e in chain if e.child is not None]
    single = all(site.properties(s).one_batch_per_instant for s in streams)
    if not site.require(BATCHES, single, "a stream may have several batches at an evaluation", op.label):
        return None
    return RStream(relation, Duration(every))


def _chain(moments: Evaluations) -> list[Evaluations]:
    """The evaluations of each window; what is no window's own ends them."""
    found = [moments]
    while isinstance(found[-1].also, Evaluations):
        found.append(found[-1].also)
    return found


def _two_batches() -> Stream:
    return Stream.of((BatchId(Instant(2), i), (1, i)) for i in (0, 1))


REFUSED = (
    Refused(
        "a delay",
        GRID,
        W[range_(us(3), slide=us(2)).delayed(us(1))].rstream(on_evaluation=True),
        {"W": [(1, 1, Instant(0)), (2, 1, Instant(3))]},
        "it is evaluated at 1 and 3, not at 0, 2 and 4",
    ),
    Refused(
        "two batches at an instant",
        BATCHES,
        S[range_(us(3), slide=us(2))].rstream(on_evaluation=True),
        {"S": _two_batches()},
        "the state is emitted after each of them",
    ),
)


def drawn(random: Random) -> Operator:
    s = random.one([W.select("a", "b"), W.select("a", "b"), S])
    x, y = us(random.number(1, 5)), us(random.number(1, 3))
    spec = random.one(
        [range_(x, slide=y), range_(x, slide=y), range_(x, slide=y).delayed(us(1)), random.temporal_window()]
    )
    r = s[random.partitioned(spec)]
    other = random.one([W.select("a", "b"), S])[range_(us(2), slide=us(random.number(1, 4)))]
    forms = [r, r.aggregate("count(*) AS n"), r.aggregate("max(b) AS b", by="a"), r.union(other), r.where("a > 1")]
    forms.append(r.union(other.delayed(us(1))))
    return random.one(forms).rstream(on_evaluation=True).operator
