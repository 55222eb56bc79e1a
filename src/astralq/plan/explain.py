"""What a plan says to a person, and to a program: the strategy of each operator with its reason, and what it reads."""

from __future__ import annotations

from collections import Counter
from typing import Any

from astralq.algebra.base import Operator
from astralq.algebra.sources import SensedSource
from astralq.algebra.state import kept_state
from astralq.plan.answer import Plan, plan_history
from astralq.plan.facts import Facts
from astralq.plan.run import BatchRun
from astralq.plan.table import Keep, Materialize, Table
from astralq.timeline import EPOCH, Instant, format_instant


def plan_without_data(query: Operator, t0: Instant | None, until: Instant | None = None) -> Plan:
    """The plan of a query's history where nothing is known of its sources.

    >>> from astralq import rows, stream
    >>> query = stream("s", "v INT, ts TIMESTAMP", timestamp="ts")[rows(3)].aggregate("max(v)").operator
    >>> for line in explained(plan_without_data(query, None)):
    ...     print(line)
    many partitions: how many rows there are is not known without reading them
    WINDOW [ROWS 3]
      by rows, looked up by position: position p + n is found by an equi-join
      positions by a distributed sort: the window counts rows of the stream
    AGGREGATE max(v)
      elementary intervals: minima and maxima, and rows hold for different times
    6 tables are computed once
    """
    if any(isinstance(op, SensedSource) for op in query.walk()):
        # A sensed stream has no end of its own; any one will do where nothing is computed.
        t0 = EPOCH if t0 is None else t0
        until = t0 if until is None else until
    return plan_history(BatchRun(query, Facts(), t0, until))


def explained(plan: Plan) -> list[str]:
    """The lines of a plan: how it is computed, what was chosen for each operator, and what is computed once."""
    lines = [_partitions(plan)]
    for operator in dict.fromkeys(r[0] for r in plan.reasons):
        lines.append(operator)
        lines += [f"  {strategy}: {why}" for other, strategy, why in plan.reasons if other == operator]
    once = _count(plan)[Materialize]
    if once:
        lines.append("1 table is computed once" if once == 1 else f"{once} tables are computed once")
    if plan.missing:
        lines.append("values that are added up are measured first, for exact sums")
    return lines


def _partitions(plan: Plan) -> str:
    if plan.one_partition:
        return "one partition: few rows are read, so that nothing is shuffled"
    if plan.rows is None:
        return "many partitions: how many rows there are is not known without reading them"
    return f"many partitions: {plan.rows:,} rows are read"


def _count(plan: Plan) -> Counter[type[Table]]:
    return Counter() if plan.answer is None else Counter(type(t) for t in plan.answer.walk())


def as_json(query: Operator, t0: Instant | None, plan: Plan) -> dict[str, Any]:
    """All that `explain` says, for programs."""
    tables = _count(plan)
    return {
        "kind": query.kind.value,
        "t0": None if t0 is None else format_instant(t0),
        "operators": _tree(query),
        "plan": {
            "one_partition": plan.one_partition,
            "choices": [dict(zip(("operator", "strategy", "reason"), r, strict=True)) for r in plan.reasons],
            "tables": sum(tables.values()),
            "materialized": tables[Materialize],
            "kept": tables[Keep],
            "measured_first": len(plan.missing),
        },
        "state": [{"operator": k.operator.label, "keeps": k.what, "bounded": k.bounded} for k in kept_state(query)],
    }


def _tree(op: Operator) -> dict[str, Any]:
    return {
        "operator": op.label,
        "kind": op.kind.value,
        "attributes": [{"name": a.name, "type": str(a.type)} for a in op.schema],
        "children": [_tree(c) for c in op.children],
    }
