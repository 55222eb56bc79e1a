"""GROUP BY: its keys, ROLLUP, CUBE and GROUPING SETS, which are a union of one aggregation for each set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, combinations, product

from sqlglot import exp

from astralq.algebra.base import Kind, Operator
from astralq.algebra.grouping import Beside, group
from astralq.algebra.ordering import Step
from astralq.algebra.relational import Named, SetKind, SetOperation
from astralq.errors import ExpressionError, PlanError
from astralq.expr.nodes import Aggregate, Call, Cast, Expr, Literal
from astralq.language.nodes import aggregates
from astralq.language.scope import GROUPING
from astralq.schema import BIGINT, INT, NULL

Bind = Callable[[exp.Expression], Named]
"""A key of GROUP BY, bound: with its name."""

_MOST = 64
"""How many grouping sets a query may have: each is an aggregation by itself."""


def grouping_sets(clause: exp.Group | None, named: Sequence[Named], bind: Bind) -> list[list[Named]]:
    """The keys of each aggregation; a plain GROUP BY is one."""
    if clause is None:
        return [[]]
    if clause.args.get("all") is not None:
        if clause.args.get("all") is False or clause.expressions:
            raise ExpressionError("GROUP BY ALL and GROUP BY DISTINCT take no keys", hint="write GROUP BY ALL alone")
        return [[n for n in named if not aggregates(n[1])]]
    keys, listed = clause.expressions, None
    for behind in (clause.args[k] for k in ("rollup", "cube", "grouping_sets") if clause.args.get(k)):
        if isinstance(behind[0], exp.GroupingSets):  # GROUP BY a, b GROUPING SETS (…), as in Hive
            keys, listed = behind, keys
        else:
            keys = [type(behind[0])(expressions=list(keys))]
    of_each = [_sets(key) for key in keys]
    found = [list(chain.from_iterable(chosen)) for chosen in product(*of_each)]
    if len(found) > _MOST:
        raise PlanError(
            f"GROUP BY has {len(found)} grouping sets, each an aggregation by itself",
            hint=f"at most {_MOST} are computed together: write GROUPING SETS with those that are wanted",
        )
    bound: dict[exp.Expression, Named] = {}
    for key in chain.from_iterable(found):
        bound.setdefault(key, bind(key))
    if listed is not None and {bind(k)[1] for k in listed} != {e for _, e in bound.values()}:
        raise ExpressionError(
            "GROUP BY lists other keys than GROUPING SETS", hint="write GROUP BY GROUPING SETS (…) alone"
        )
    return [list({bound[key][1]: bound[key] for key in chosen}.values()) for chosen in found]


def _sets(node: exp.Expression) -> list[list[exp.Expression]]:
    """The grouping sets that one element of GROUP BY stands for."""
    match node:
        case exp.Rollup():
            parts = [_members(e) for e in node.expressions]
            return [list(chain.from_iterable(parts[:k])) for k in range(len(parts), -1, -1)]
        case exp.Cube():
            parts = [_members(e) for e in node.expressions]
            sizes = range(len(parts), -1, -1)
            return [list(chain.from_iterable(chosen)) for k in sizes for chosen in combinations(parts, k)]
        case exp.GroupingSets():
            return [one for e in node.expressions for one in _sets(e)]
        case exp.Tuple() | exp.Paren():
            return [_members(node)]
    return [[node]]


def _members(node: exp.Expression) -> list[exp.Expression]:
    match node:
        case exp.Tuple():
            return list(node.expressions)
        case exp.Paren():
            return _members(node.this)
    return [node]


def grouped(
    child: Operator,
    sets: Sequence[Sequence[Named]],
    named: Sequence[Named],
    having: Expr | None,
    *,
    empty_row: bool,
    beside: Sequence[Beside] = (),
    steps: Sequence[Step] = (),
    bounds: bool = False,
) -> Operator:
    """The aggregation of each grouping set, one after the other; where a key is not in a set, it is NULL."""
    every = list(dict.fromkeys(e for keys in sets for _, e in keys))
    made = []
    for keys in sets:
        own = [e for _, e in keys]

        def shown(e: Expr, own: list[Expr] = own) -> Expr:
            return _in_set(e, own, every)

        items = [(name, shown(e)) for name, e in named]
        condition = None if having is None else shown(having)
        there = [replace(b, on=tuple((shown(e), sign, n) for e, sign, n in b.on)) for b in beside]
        made.append(
            group(child, list(keys), items, condition, empty_row=empty_row, beside=there, steps=steps, bounds=bounds)
        )
    if len(made) > 1 and made[0].kind is not Kind.RELATION:
        raise PlanError("GROUPING SETS over a stream of windows are not part of SNEEql", hint="write a query for each")
    return reduce(lambda one, other: SetOperation(one, other, SetKind.UNION), made)


def _in_set(e: Expr, own: Sequence[Expr], every: Sequence[Expr]) -> Expr:
    """An expression over the groups of one set: other keys are NULL, and grouping(…) is known."""
    if isinstance(e, Call) and e.function in GROUPING:
        return _grouping(e, own, every)
    if isinstance(e, Aggregate) or e in own:
        return e
    if e in every:
        return Cast(e.type, Literal(NULL, None))
    return e.rebuilt(tuple(_in_set(c, own, every) for c in e.children))


def _grouping(e: Call, own: Sequence[Expr], every: Sequence[Expr]) -> Expr:
    """grouping(a): 0 if a is a key of the set, else 1; grouping_id(a, b): as bits, of all keys if none is named."""
    asked = e.args or tuple(every)
    wrong = [a for a in asked if a not in every]
    if wrong:
        raise ExpressionError(f"{e}: {wrong[0]} is no key of GROUP BY", hint="name what stands in GROUP BY")
    bits = [int(a not in own) for a in asked]
    if e.function == "grouping":
        return Literal(INT, bits[0])
    return Literal(BIGINT, reduce(lambda value, bit: 2 * value + bit, bits, 0))
