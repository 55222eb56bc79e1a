"""Refuses what stands in a query and is not used: the parts of sqlglot's nodes and the words that its binder uses."""

from __future__ import annotations

from sqlglot import exp

from astralq.errors import ExpressionError, Span
from astralq.expr import unused
from astralq.expr.unused import nodes, refuse_unused_parts
from astralq.language.hints import CLAUSES
from astralq.language.syntax import DivideBy, Item, SpreadItem, StreamerQuery

_ARRANGED = ("order", "limit", "offset")
_SET_OPERATION = ("this", "expression", "distinct", "with_", "in_order", "identity", *_ARRANGED)

PARTS: unused.Parts = {
    **unused.PARTS,
    exp.Select: (
        "expressions",
        "from_",
        "joins",
        "laterals",
        "where",
        "group",
        "having",
        "distinct",
        "with_",
        "qualify",
        *_ARRANGED,
    ),
    **dict.fromkeys((exp.Union, exp.Except, exp.Intersect), _SET_OPERATION),
    DivideBy: ("this", "expression", "with_", *_ARRANGED),
    exp.Values: ("expressions", *_ARRANGED),
    exp.Subquery: ("this", *_ARRANGED),
    exp.Distinct: ("expressions", "on"),
    exp.Tuple: ("expressions",),
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.Limit: ("expression", "per"),
    exp.Fetch: ("direction", "count", "limit_options"),
    exp.LimitOptions: ("rows", "percent", "with_ties"),
    exp.Offset: ("expression",),
    exp.Qualify: ("this",),
    exp.Window: ("this", "partition_by", "order", "over", "spec"),  # a frame has an error of its own
    exp.From: ("this",),
    exp.Having: ("this",),
    exp.Group: ("expressions", "all", "rollup", "cube", "grouping_sets"),
    **dict.fromkeys((exp.Rollup, exp.Cube, exp.GroupingSets), ("expressions",)),
    exp.With: ("expressions", "recursive"),  # which has an error of its own
    exp.CTE: ("this", "alias"),
    exp.Join: ("this", "on", "using", "side", "kind", "method", "lookup", "within"),
    exp.Lateral: ("this", "view", "outer", "alias"),
    exp.Table: ("this",),
    exp.TableAlias: ("this", "columns"),
    exp.Exists: ("this", "past"),
    Item: ("this", "postfixes", "alias", "assigned", "joins", "as_of"),
    SpreadItem: ("this", "all", "by"),
    StreamerQuery: ("this", "kind", "every", "on", "with_"),
}
"""The parts of each type of node that a query's binder uses; whatever else sqlglot fills is refused."""

KEYWORDS = {
    *unused.KEYWORDS,
    *("SELECT", "GROUP", "BY", "HAVING", "EXISTS", "UNION", "EXCEPT", "MINUS", "INTERSECT", "WITH"),
    *("VALUES", "ROLLUP", "CUBE", "GROUPING", "SETS", "EXCLUDE"),
    *(
        "JOIN",
        "INNER",
        "LEFT",
        "RIGHT",
        "FULL",
        "CROSS",
        "SEMI",
        "ANTI",
        "SINGLE",
        "NATURAL",
        "ON",
        "USING",
        "LOOKUP",
        "WITHIN",
    ),
    *(
        "ISTREAM",
        "DSTREAM",
        "RSTREAM",
        "EVERY",
        "INSERT",
        "SPREAD",
        "AT",
        "START",
        "TIMESTAMP",
        "DELAYED",
        "FOR",
        "SYSTEM_TIME",
    ),
    *("DIVIDE", "DURING", "TO", "IDENTITY", "ORDER", "EVALUATION", "OF", "BATCH", "LAST"),
    *("QUALIFY", "OVER", "PARTITION", "ASC", "DESC", "NULLS", "FIRST", "LIMIT", "PER", "OFFSET", "ASOF"),
    *("FETCH", "NEXT", "ROW", "ROWS", "ONLY", "PERCENT", "TIES"),
    *("LATERAL", "VIEW"),
    "OUTER",  # means nothing behind LEFT, RIGHT or FULL
}
"""The words of queries; ALL means nothing behind SELECT and in aggregates."""

_JOINS = {
    *(
        ("SINGLE", ""),
        ("", ""),
        ("", "INNER"),
        ("", "CROSS"),
        ("", "SEMI"),
        ("", "ANTI"),
        ("LEFT", "SEMI"),
        ("LEFT", "ANTI"),
    ),
    *((side, kind) for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")),
}


def refuse_unused(query: exp.Expression, source: str) -> None:
    """Raises an error for what stands in a query and would not be used."""
    for node in nodes(query, PARTS):
        match node:
            case exp.Join():
                _check_join(node, source)
            case exp.TableAlias() if any(not isinstance(c, exp.Identifier) for c in node.args.get("columns") or []):
                raise ExpressionError("an alias takes names only", hint="write for example FROM s AS a(x, y)")
            case exp.Exists():
                _drop_harmless_limit(node)
    refuse_unused_parts(query, source, PARTS, CLAUSES)


def _check_join(join: exp.Join, source: str) -> None:
    """Only those combinations of words before JOIN that have a meaning."""
    method, side, kind = (str(join.args.get(k) or "").upper() for k in ("method", "side", "kind"))
    words = " ".join(w for w in (method, side, kind, "JOIN") if w)
    span = Span.of(source, join.meta["start"], join.meta["end"] + 1) if "start" in join.meta else None
    asof = method == "ASOF" and (side in ("", "LEFT") and kind in ("", "INNER", "OUTER"))
    if not (asof or method in ("", "NATURAL")) or (side, kind) not in _JOINS or (method and kind == "CROSS"):
        hint = "joins are [INNER], LEFT, RIGHT, FULL [OUTER], CROSS, SEMI, ANTI and NATURAL JOIN, [LEFT] ASOF JOIN "
        hint += "and LOOKUP JOIN"
        raise ExpressionError(f"{words} is not part of the language", hint=hint, span=span)
    for word in (method, kind):
        if word in ("NATURAL", "CROSS") and (join.args.get("on") is not None or join.args.get("using")):
            raise ExpressionError(f"a {word} join has neither ON nor USING", hint=f"leave out {word}", span=span)


def _drop_harmless_limit(test: exp.Exists) -> None:
    """EXISTS (… LIMIT n) with n ≥ 1 asks the same as without, and is a habit of many: it is accepted."""
    limit = test.this.args.get("limit") if isinstance(test.this, exp.Expression) else None
    count = limit.expression if isinstance(limit, exp.Limit) else None
    if isinstance(count, exp.Literal) and not count.is_string and count.this.isdigit() and int(count.this) > 0:
        test.this.set("limit", None)
