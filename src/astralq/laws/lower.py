"""Lowering: operators that are defined by others become those others, in one pass, before anything is planned.

What is left is core: sources, σ Π ρ, windows, past states, aggregation, joins, set operations, streamers, spread,
streams of windows; and the band join by position, which compares positions and has a strategy of its own.
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import Distinct, Divide, Product, Project, SetKind, ValueSetOperation
from astralq.algebra.schedules import Continuous, Measure
from astralq.algebra.scopes import Back, Scope
from astralq.algebra.stream_ops import BandJoin, Composite
from astralq.algebra.windows import WindowSpec
from astralq.expr.nodes import Column


def lower(query: Operator) -> Operator:
    """The query in core operators: the same tuples in the same order and batches.

    >>> from astralq import relation, stream
    >>> lower(stream("S", "v INT").join(relation("R", "w INT"), "v = w").operator)
    ISTREAM
    └─ JOIN ON v = w
       ├─ WINDOW [LAST BATCH]
       │  └─ STREAM S
       └─ RELATION R
    """
    return query.transform(_lowered)


def _lowered(op: Operator) -> Operator:
    match op:
        case BandJoin() if op.within_rows is not None:
            return op
        case BandJoin() if op.within is not None:
            return _near(op)
        case Composite():
            return op.definition
        case Divide():
            return _division(op)
    return op


def _near(op: BandJoin) -> Operator:
    """D34 without comparing histories: a pair comes with its later tuple, and the earlier one is still in [RANGE d]
    then exactly if it is not more than d older. So windows of d stand for D34's windows of everything."""
    assert op.within is not None
    return op.over(WindowSpec(Continuous(), Scope(Measure.TIME, Back(op.within), Back(0))))


def _division(op: Divide) -> Operator:
    """L ÷ R = Π(L) − Π((Π(L) × R) − L), all by value: what goes with every tuple of R."""

    def columns(of: Operator) -> tuple[tuple[str, Column], ...]:
        return tuple((a.name, Column(a.type, a.name)) for a in of.schema)

    kept = Distinct(Project(op.left, columns(op)))
    pairs = Project(Product(kept, op.right), columns(op.left))
    missing = ValueSetOperation(pairs, op.left, SetKind.EXCEPT)
    return ValueSetOperation(kept, Project(missing, columns(op)), SetKind.EXCEPT)
