"""What sqlglot's nodes of operators are called in our table, and which types are functions too."""

from __future__ import annotations

from sqlglot import exp

OPERATORS: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "<=>",
    exp.And: "and",
    exp.Or: "or",
    exp.DPipe: "||",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.RegexpLike: "rlike",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "shiftleft",
    exp.BitwiseRightShift: "shiftright",
}
"""The functions that operators are."""

CONVERSIONS = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean", "string", "binary", "date"),
    "timestamp",
)
"""Types that are functions too: bigint(x) is CAST(x AS BIGINT)."""
