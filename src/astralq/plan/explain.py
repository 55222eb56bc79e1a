"""What a plan says to a person, and to a program: laws, the strategy of each operator with its reason, and state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from astralq.algebra.base import Operator
from astralq.algebra.html import plan_html
from astralq.algebra.sources import SensedSource
from astralq.algebra.state import Kept
from astralq.laws import explain as laws
from astralq.laws.optimize import Optimized, optimize
from astralq.laws.rule import Rule
from astralq.laws.rules import RULES
from astralq.plan.answer import Plan, plan_history
from astralq.plan.facts import Facts
from astralq.plan.run import BatchRun
from astralq.plan.table import Aggregate, Keep, Materialize, Table
from astralq.plan.warnings import warnings_of
from astralq.timeline import EPOCH, Instant, format_instant


def plan_without_data(query: Operator, t0: Instant | None, until: Instant | None = None) -> Plan:
    """The plan of a query's history where nothing is known of its sources; the query is planned as it is.

    >>> from astralq import rows, stream
    >>> query = stream("s", "v INT, ts TIMESTAMP", timestamp="ts")[rows(3)].aggregate("max(v)").operator
    >>> for line in explained(plan_without_data(query, None)):
    ...     print(line)
    many partitions: how many rows there are is not known without reading them
    WINDOW [ROWS 3]
      by rows, looked up by position: position p + n is found by an equi-join
      positions by sorting ranges of time side by side: the window counts rows of the stream
    AGGREGATE max(v)
      elementary intervals: minima and maxima, and rows hold for different times
    6 tables are computed once
    how many tuples come in which part of the time is counted first, for positions
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
    if any(isinstance(t, Aggregate) and not t.keys for t in plan.missing):
        lines.append("values that are added up are measured first, for exact sums")
    if any(isinstance(t, Aggregate) and t.keys for t in plan.missing):
        lines.append("how many tuples come in which part of the time is counted first, for positions")
    return lines


def _partitions(plan: Plan) -> str:
    if plan.one_partition:
        return "one partition: few rows are read, so that nothing is shuffled"
    if plan.rows is None:
        return "many partitions: how many rows there are is not known without reading them"
    return f"many partitions: {plan.rows:,} rows are read"


def _count(plan: Plan) -> Counter[type[Table]]:
    return Counter() if plan.answer is None else Counter(type(t) for t in plan.answer.walk())


@dataclass(frozen=True)
class Explanation:
    """A query, what the laws made of it, and its plan: text, JSON, and HTML in a notebook.

    >>> from astralq import rows, stream
    >>> from astralq.laws.optimize import optimize
    >>> query = stream("s", "v INT, ts TIMESTAMP", timestamp="ts")[rows(3)].where("v > 20").operator
    >>> print(Explanation.without_data(query, None).sections["laws that were refused"][0])
    select_through_window at SELECT v > 20: not pushed below [ROWS 3]: \
those with v > 20 among the last 3 rows are not the last 3 rows among those
    """

    optimized: Optimized
    plan: Plan
    t0: Instant | None = None
    rows: Mapping[str, int] = field(default_factory=dict)  # of sources, where that is known
    spark: str | None = None  # Spark's own plans

    @staticmethod
    def without_data(
        query: Operator,
        t0: Instant | None,
        until: Instant | None = None,
        rules: Sequence[Rule] = RULES,
        rows: Mapping[str, int] | None = None,
    ) -> Explanation:
        """What is known without reading sources; `rows` is how many rows they have, if that is known."""
        optimized = optimize(query, rules, rows)
        return Explanation(optimized, plan_without_data(optimized.after, t0, until), t0, rows or {})

    @property
    def sections(self) -> dict[str, list[str]]:
        """All that is said below the operators, by heading."""
        optimized = self.optimized
        found = {"laws": laws.applied(optimized) or ["none was used"]}
        if refused := laws.refused(optimized):
            found["laws that were refused"] = refused
        if optimized.steps:
            before, after = (laws.total_rows(q, self.rows) for q in (optimized.before, optimized.after))
            handled = f"{laws.about(after)} rows to handle, {laws.about(before)} without laws"
            found["operators after laws, with estimated rows"] = [
                *laws.with_rows(optimized.after, self.rows),
                "",
                handled if self.rows else f"{handled}; sizes of sources are not known",
            ]
        found["plan"] = explained(self.plan)
        if warnings := warnings_of(optimized.after):
            found["warnings"] = warnings
        found["kept by a continuous run"] = [str(k) for k in optimized.kept] or ["nothing"]
        if [str(k) for k in optimized.kept] != [str(k) for k in optimized.kept_before]:
            found["kept without laws"] = [str(k) for k in optimized.kept_before] or ["nothing"]
        return found

    def __str__(self) -> str:
        query = self.optimized.query
        start = "1970-01-01T00:00:00Z, as there is no START AT" if self.t0 is None else format_instant(self.t0)
        parts = [f"kind  {query.kind.value}\nt0    {start}", query.explain()]
        parts += ["\n".join([title, *(f"  {x}".rstrip() for x in lines)]) for title, lines in self.sections.items()]
        return "\n\n".join(parts if self.spark is None else [*parts, self.spark])

    def _repr_html_(self) -> str:
        parts = [plan_html(self.optimized.query)]
        for title, lines in self.sections.items():
            text = escape("\n".join(lines))
            if title.startswith("operators"):
                text = plan_html(self.optimized.after) + f"<p>{escape(lines[-1])}</p>"
                parts.append(f"<h4>{title}</h4>{text}")
            else:
                parts.append(f'<h4>{title}</h4><pre style="white-space:pre-wrap">{text}</pre>')
        return "".join(parts)

    @property
    def json(self) -> dict[str, Any]:
        """The same for programs."""
        tables, optimized, plan = _count(self.plan), self.optimized, self.plan
        found = {
            "kind": optimized.query.kind.value,
            "t0": None if self.t0 is None else format_instant(self.t0),
            "operators": _tree(optimized.query),
            "laws": {**laws.as_json(optimized, self.rows), "operators": _tree(optimized.after)},
            "plan": {
                "one_partition": plan.one_partition,
                "choices": [dict(zip(("operator", "strategy", "reason"), r, strict=True)) for r in plan.reasons],
                "tables": sum(tables.values()),
                "materialized": tables[Materialize],
                "kept": tables[Keep],
                "measured_first": len(plan.missing),
                "warnings": warnings_of(optimized.after),
            },
            "state": _kept(optimized.kept),
            "state_without_laws": _kept(optimized.kept_before),
        }
        return found if self.spark is None else {**found, "spark": self.spark}


def _kept(state: Sequence[Kept]) -> list[dict[str, Any]]:
    return [{"operator": k.operator.label, "keeps": k.what, "bounded": k.bounded} for k in state]


def _tree(op: Operator) -> dict[str, Any]:
    return {
        "operator": op.label,
        "kind": op.kind.value,
        "attributes": [{"name": a.name, "type": str(a.type)} for a in op.schema],
        "children": [_tree(c) for c in op.children],
    }
