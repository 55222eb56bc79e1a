"""explode in FROM: LATERAL explode(a) AS t(x), explode(s.a) AS x; and behind FROM, LATERAL VIEW explode(a) t AS x."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from astralq.algebra.explode import Explode
from astralq.algebra.grouping import unique
from astralq.errors import ExpressionError, PlanError, nearest
from astralq.expr.nodes import Expr
from astralq.language.scope import Entry, Scope
from astralq.language.syntax import GENERATORS

_WINDOW_FIRST = "write FROM s [RANGE …], LATERAL explode(a) AS t(x), or give the window to a query that explodes"
Binding = Callable[[Scope, exp.Expression], Expr]
"""Binds an expression in a scope."""


def generator_of(item: exp.Expression) -> exp.Lateral | None:
    """The generator that an item of FROM is, if it is one, with the item's alias."""
    found = item.this
    if isinstance(item, exp.Lateral) or not isinstance(found, exp.Lateral):
        return item if isinstance(item, exp.Lateral) else None
    if any(item.args.get(part) for part in ("postfixes", "joins", "as_of")):
        raise PlanError("a window or a join cannot stand behind explode", hint=_WINDOW_FIRST)
    if found.args.get("view") or found.args.get("alias") is not None:
        raise PlanError("LATERAL VIEW stands behind all items of FROM")
    found = found.copy()
    found.set("alias", item.args.get("alias"))
    return found


def exploded(left: Scope, node: exp.Lateral, bind: Binding) -> Scope:
    """The scope of a stream or relation whose tuples are made of the elements of an array."""
    call = node.this
    name = str(call.this).lower() if isinstance(call, exp.Anonymous) else ""
    if name not in GENERATORS or len(call.expressions) != 1:
        hint = nearest(name, GENERATORS) or "write LATERAL explode(a) AS t(x)"
        raise ExpressionError("LATERAL takes explode of one array or map", hint=hint)
    array = bind(left, call.expressions[0])
    names = _names(node, array, placed=name.startswith("pos"))
    taken = left.taken
    held = tuple(unique(n, taken) for n in names)
    outer = name.endswith("_outer") or bool(node.args.get("outer"))
    operator = Explode(left.operator, array, held, outer)
    alias = node.args.get("alias")
    called = alias.name if alias is not None and alias.this is not None else None
    shown = list(zip(names, held, strict=True))
    star = None if left.star is None else [*left.star, *shown]
    return Scope(operator, [*left.entries, Entry(called, shown)], left.outer, star)


def _names(node: exp.Lateral, array: Expr, *, placed: bool) -> list[str]:
    """The names that AS gives, else Spark's: col, or key and value, behind pos. AS x alone names one element."""
    alias = node.args.get("alias")
    given = [c.name for c in alias.args.get("columns") or []] if alias is not None else []
    usual = ["pos"] * placed + (["key", "value"] if array.type.name == "MAP" else ["col"])
    if not given and alias is not None and alias.this is not None and len(usual) == 1 and not node.args.get("view"):
        return [alias.name]
    if given and len(given) != len(usual):
        raise ExpressionError(f"{', '.join(usual)} are {len(usual)} attributes, and AS names {len(given)}")
    return given or usual
