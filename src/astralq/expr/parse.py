"""From SQL text to typed expressions, by sqlglot's grammar of Spark SQL; there is no second parser.

Functions are looked up by name in our own table: sqlglot's rewriting of known functions is switched off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import reduce
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from astralq.callables import PythonFunction
from astralq.datatypes import to_float32
from astralq.errors import AstralError, ExpressionError, Span, nearest
from astralq.expr.aggregates import aggregate, is_aggregate
from astralq.expr.casts import cast
from astralq.expr.constants import SUFFIXED, date_constant, number, type_text
from astralq.expr.filters import filtered
from astralq.expr.functions import call, case
from astralq.expr.lambdas import HIGHER, higher, lambda_of
from astralq.expr.nested import field_of
from astralq.expr.nodes import Aggregate, Cast, Column, Expr, Lambda, Literal, Variable, inside
from astralq.expr.operators import CONVERSIONS, OPERATORS
from astralq.expr.python_functions import apply
from astralq.expr.spellings import SPELLINGS, interval_of, with_backslash
from astralq.expr.time_functions import date_part
from astralq.expr.unused import KEYWORDS, PARTS, refuse_dropped_words, refuse_unused_parts
from astralq.schema import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTERVAL,
    MONTHS,
    NULL,
    STRING,
    TIMESTAMP,
    Schema,
    Type,
    fits,
    parse_type,
)
from astralq.space import Region
from astralq.timeline import duration, instant

Known = Mapping[str, Region | PythonFunction]
"""What an expression can name besides attributes: regions, and Python functions."""


class ScalarSQL(Spark):
    """Spark SQL's expressions with every function left as written: a name and its arguments."""

    class Parser(Spark.Parser):  # type: ignore[misc,valid-type]
        FUNCTIONS: dict[str, Callable[..., exp.Expression]] = {}  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012
            **{k: v for k, v in Spark.Parser.FUNCTION_PARSERS.items() if k in ("CAST", "TRY_CAST")},
            **SPELLINGS,
        }


def expression(text: str, schema: Schema, known: Known | None = None) -> Expr:
    """Reads one expression over the attributes of a schema.

    >>> s = Schema.parse("sensor INT, value DOUBLE")
    >>> e = expression("value * 2 > 25 AND sensor IN (42, 44)", s)
    >>> str(e), str(e.type)
    ('value * 2 > 25 AND sensor IN (42, 44)', 'BOOLEAN')
    """
    node, name = _parse(text)
    if name is not None:
        raise ExpressionError(f"a name is not wanted here: {text!r}", hint=f"leave out AS {name}")
    return Binder(schema, known or {}, text).bind(node)


def named_expression(text: str, schema: Schema, known: Known | None = None) -> tuple[str, Expr]:
    """Reads `expression AS name`; without AS the name is the attribute's, or the expression's text."""
    node, name = _parse(text)
    bound = Binder(schema, known or {}, text).bind(node)
    if name is None:
        name = bound.name if isinstance(bound, Column) else text.strip()
    return name, bound


def split_list(text: str) -> list[str]:
    """The parts of a comma-separated list, each as text; commas in parentheses and quotes do not count.

    >>> split_list("a, max(b, c) AS m")
    ['a', 'max(b, c) AS m']
    """
    try:
        tokens = ScalarSQL().tokenize(text)
    except TokenError:
        raise ExpressionError(f"cannot read the list {text!r}") from None
    depth, cuts = 0, [-1]
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if token.token_type is TokenType.COMMA and depth == 0:
            cuts.append(token.start)
    return [text[a + 1 : b].strip() for a, b in pairwise([*cuts, len(text)])] if tokens else []


def reads_as_name(name: str) -> bool:
    """Whether the text is read as the name of an attribute, and of this one."""
    if not (name.isidentifier() and name.isascii()):
        return False
    try:
        node, alias = _parse(name)
    except ExpressionError:
        return False
    return isinstance(node, exp.Column) and node.name == name and alias is None


def _parse(text: str) -> tuple[exp.Expression, str | None]:
    try:
        tokens = ScalarSQL().tokenize(text)
        nodes = ScalarSQL().parser().parse(tokens, text)
    except (ParseError, TokenError) as e:
        raise ExpressionError(f"cannot read the expression {text!r}", span=_error_span(e, text)) from None
    if len(nodes) != 1 or nodes[0] is None:
        raise ExpressionError(f"expected one expression, not {text!r}")
    node: exp.Expression = nodes[0]  # type: ignore[assignment]  # sqlglot types its parser loosely
    refuse_unused_parts(node, text, PARTS, {})
    refuse_dropped_words(node, tokens, text, PARTS, KEYWORDS, ScalarSQL.Parser.TYPE_TOKENS)
    if isinstance(node, exp.Alias):
        return node.this, str(node.alias)
    if isinstance(node, exp.Query | exp.DDL | exp.DML | exp.Command):
        raise ExpressionError(f"expected an expression, not a statement: {text!r}")
    return node, None


def _error_span(error: Exception, text: str) -> Span | None:
    for e in getattr(error, "errors", []):
        length = len(e.get("highlight") or "x")
        return Span(e.get("line") or 1, max(1, (e.get("col") or 1) - length + 1), length, text)
    return None


class Binder:
    """Turns sqlglot's nodes into typed expressions over a schema.

    The language layer overrides `column` to resolve qualified names.
    """

    def __init__(self, schema: Schema, known: Known, source: str) -> None:
        self.schema = schema
        self.regions = {n: r for n, r in known.items() if isinstance(r, Region)}
        self.source = source
        self.variables: dict[str, Variable] = {}
        self.functions = {n.lower(): f for n, f in known.items() if isinstance(f, PythonFunction)}

    def bind(self, node: exp.Expression) -> Expr:
        """The typed expression of a node; an error has the node's place."""
        try:
            return self._bind(node)
        except AstralError as e:
            raise e.at(self.span(node)) from None

    def span(self, node: exp.Expression) -> Span | None:
        """Where the node stands in the text: from its first to its last name, as far as sqlglot knows."""
        if isinstance(node, exp.Anonymous) and (name := self._name_of(node)):
            return Span.of(self.source, *name)
        places = [(n.meta["start"], n.meta["end"] + 1) for n in node.walk() if "start" in n.meta]
        places += [name for f in node.find_all(exp.Anonymous) if (name := self._name_of(f))]
        if not places:
            return None
        return Span.of(self.source, min(a for a, _ in places), max(b for _, b in places))

    def _name_of(self, node: exp.Anonymous) -> tuple[int, int] | None:
        """sqlglot keeps no place for a function's name; where it is written once, that is the place."""
        written = list(re.finditer(rf"\b{re.escape(str(node.this))}(?=\s*\()", self.source))
        return written[0].span() if len(written) == 1 else None

    def column(self, node: exp.Column) -> Expr:
        """An attribute, or behind a dot a field of one that is a STRUCT."""
        first, *fields = (part.name for part in node.parts)
        if fields and self.schema.find(first) is not None and self.schema[first].type.holds("STRUCT"):
            found: Expr = Column(self.schema[first].type, self.schema[first].name)
            for name in fields:
                found = field_of(found, name)
            return found
        if node.table:
            raise ExpressionError(
                f"{node.table}.{node.name} is qualified, and there is only one set of attributes here",
                hint=f"write {node.name}",
            )
        attribute = self.schema[node.name]
        return Column(attribute.type, attribute.name)

    def _bind(self, node: exp.Expression) -> Expr:
        if isinstance(node, exp.EQ | exp.NEQ) and isinstance(node.this, exp.Tuple):
            same = self._same_members(node.this, node.expression)
            return same if isinstance(node, exp.EQ) else call("not", same)
        if (operator := OPERATORS.get(type(node))) is not None:
            bound = call(operator, self.bind(node.this), self.bind(node.expression))
            negated = node.args.get("negate") or isinstance(node, exp.NullSafeNEQ)
            return call("not", bound) if negated else bound
        match node:
            case exp.Column():
                return self.column(node)
            case exp.Paren():
                return self.bind(node.this)
            case exp.Concat() if all(isinstance(e, exp.Literal) and e.is_string for e in node.expressions):
                return Literal(STRING, "'".join(e.this for e in node.expressions))  # 'a''b'
            case exp.Literal():
                return Literal(STRING, node.this) if node.is_string else number(node.this)
            case exp.Boolean():
                return Literal(BOOLEAN, bool(node.this))
            case exp.Null():
                return Literal(NULL, None)
            case exp.BitwiseNot():
                return call("~", self.bind(node.this))
            case exp.Neg():
                return self._negated(node.this)
            case exp.Not():
                return self._not(node.this)
            case exp.Is():
                return self._is(node)
            case exp.In():
                return self._in(node)
            case exp.HexString():
                return Literal(BINARY, bytes.fromhex(node.name.rjust(len(node.name) + len(node.name) % 2, "0")))
            case exp.RawString():
                return Literal(STRING, node.name)
            case exp.Escape():
                return self._escaped(node)
            case exp.Identifier() if node.name.lower() in self.variables:
                return self.variables[node.name.lower()]
            case exp.Transform():
                return self._higher("transform", [node.this, node.expression])
            case exp.Bracket():
                return self._item(node)
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return field_of(self.bind(node.this), node.expression.name)
            case exp.Between():
                parts = (node.this, node.args["low"], node.args["high"])
                return call("between", *(self.bind(p) for p in parts))
            case exp.Case():
                return self._case(node)
            case exp.If():
                given = (node.this, node.args.get("true"), node.args.get("false"))
                return call("if", *(self.bind(p) for p in given if p is not None))
            case exp.Interval():
                return self._interval(node)
            case exp.Cast():  # TryCast is one too
                return self._cast(node)
            case exp.Anonymous():
                return self._function(node)
            case exp.Filter():
                return self._filtered(node)
        if any(True for _ in node.find_all(exp.Query)):
            raise ExpressionError(
                "a subquery cannot stand here", hint="it stands in SELECT, WHERE, GROUP BY, HAVING or ON of a query"
            )
        raise ExpressionError(f"{node.sql('spark')} is not supported in an expression")

    def _negated(self, node: exp.Expression) -> Expr:
        if isinstance(node, exp.Literal) and not node.is_string:
            return number(f"-{node.this}")
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and not node.this.is_string:
            negative = node.copy()
            negative.this.set("this", f"-{node.this.this}")
            return self.bind(negative)  # -9223372036854775808L is one constant
        return call("negate", self.bind(node))

    def _not(self, node: exp.Expression) -> Expr:
        while isinstance(node, exp.Paren):  # NOT (a IS NULL) is one condition, as a IS NOT NULL
            node = node.this
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return call("isnotnull", self.bind(node.this))
        return call("not", self.bind(node))

    def _is(self, node: exp.Is) -> Expr:
        if isinstance(node.expression, exp.Null):
            return call("isnotnull" if node.args.get("negate") else "isnull", self.bind(node.this))
        same = call("<=>", self.bind(node.this), self.bind(node.expression))
        return call("not", same) if node.args.get("negate") else same

    def _in(self, node: exp.In) -> Expr:
        if node.args.get("query") is not None:
            raise ExpressionError(
                "a subquery cannot stand here", hint="it stands in SELECT, WHERE, GROUP BY, HAVING or ON of a query"
            )
        if isinstance(node.this, exp.Tuple):
            rows = [self._same_members(node.this, e) for e in node.expressions]
            if not rows:
                raise ExpressionError("IN of nothing", hint="write (a, b) IN ((1, 2), (3, 4))")
            return reduce(lambda a, b: call("or", a, b), rows)
        return call("in", self.bind(node.this), *(self.bind(e) for e in node.expressions))

    def _same_members(self, one: exp.Tuple, other: exp.Expression) -> Expr:
        """(a, b) = (1, 2): whether all members are equal."""
        members = other.expressions if isinstance(other, exp.Tuple) else [other]
        if len(members) != len(one.expressions):
            raise ExpressionError(f"{len(one.expressions)} values are compared with {len(members)}").at(
                self.span(other)
            )
        same = [call("=", self.bind(a), self.bind(b)) for a, b in zip(one.expressions, members, strict=True)]
        return reduce(lambda a, b: call("and", a, b), same)

    def _case(self, node: exp.Case) -> Expr:
        def test(condition: exp.Expression) -> Expr:
            if node.this is None:
                return self.bind(condition)
            return call("=", self.bind(node.this), self.bind(condition))

        default = node.args.get("default")
        branches = tuple((test(i.this), self.bind(i.args["true"])) for i in node.args["ifs"])
        return case(branches, self.bind(default) if default is not None else None)

    def _escaped(self, node: exp.Escape) -> Expr:
        """LIKE … ESCAPE 'c': the pattern with a backslash as its escape, where it is a constant."""
        like, escape = node.this, node.expression
        pattern = like.expression
        constant = all(isinstance(n, exp.Literal) and n.is_string for n in (pattern, escape))
        if not isinstance(like, exp.Like | exp.ILike) or not constant or len(escape.name) != 1:
            raise ExpressionError(
                "ESCAPE stands behind LIKE and a constant pattern, with one character",
                hint="write LIKE 'a!_b' ESCAPE '!'",
            )
        rewritten = like.copy()
        rewritten.set("expression", exp.Literal.string(with_backslash(pattern.name, escape.name)))
        return self.bind(rewritten)

    def _item(self, node: exp.Bracket) -> Expr:
        if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
            raise ExpressionError("one index stands in the brackets", hint="write a[0], m['key'], or slice(a, 1, 2)")
        return call("[]", self.bind(node.this), self.bind(node.expressions[0]))

    def _interval(self, node: exp.Interval) -> Expr:
        unit = node.args.get("unit")
        if not isinstance(node.this, exp.Literal):
            raise ExpressionError(f"{node.sql('spark')} is not a fixed length of time", hint="write INTERVAL 5 MINUTES")
        if isinstance(unit, exp.IntervalSpan):
            return interval_of(node.this.name, unit.this.name, unit.expression.name)
        name = unit.name.upper().rstrip("S") if unit is not None else ""
        if name in ("MONTH", "YEAR") and re.fullmatch(r"\s*[+-]?\d+\s*", node.this.name):
            return Literal(MONTHS, int(node.this.name) * (12 if name == "YEAR" else 1))
        return Literal(INTERVAL, int(duration(f"{node.this.this} {unit.name if unit is not None else ''}")))

    def _cast(self, node: exp.Cast) -> Expr:
        target = type_text(node.args["to"])
        if any(not isinstance(p.this, exp.Literal) for p in node.args["to"].find_all(exp.DataTypeParam)):
            raise ExpressionError(f"{target} is not a type", hint="write for example DECIMAL(10, 2)")
        while isinstance(node.this, exp.Paren) and isinstance(node.this.this, exp.Paren | exp.Literal):
            node = node.copy()
            node.set("this", node.this.this)  # CAST((0) AS DOUBLE) is the constant that CAST(0 AS DOUBLE) is
        if isinstance(node.this, exp.Literal) and not node.args.get("safe"):
            if node.this.is_string and target in ("TIMESTAMP", "TIMESTAMP_NTZ") and not isinstance(node, exp.TryCast):
                return Literal(TIMESTAMP, instant(node.this.this))  # TIMESTAMP '…'; a CAST comes as TryCast
            if node.this.is_string and target == "DATE" and not isinstance(node, exp.TryCast):
                return date_constant(node.this.this)  # DATE '…'
            if node.this.is_string and target in ("DOUBLE", "FLOAT") and node.this.this in ("nan", "inf", "-inf"):
                return Literal(parse_type(target), float(node.this.this))
            if node.this.is_string and target.startswith("DECIMAL") and node.this.this.lstrip("-").isdigit():
                exact = Literal(parse_type(target), Decimal(node.this.this))  # 2BD
                if fits(exact.value, exact.type):
                    return exact
            if not node.this.is_string and target == "DOUBLE" and math.isfinite(float(node.this.this)):
                return Literal(DOUBLE, float(node.this.this))  # 1.5D
            if not node.this.is_string and target == "FLOAT" and math.isfinite(to_float32(float(node.this.this))):
                return Literal(FLOAT, to_float32(float(node.this.this)))  # 1.5F
            if not node.this.is_string and target in SUFFIXED and node.this.this.lstrip("-").isdigit():
                whole = Literal(SUFFIXED[target], int(node.this.this))  # 3L
                if fits(whole.value, whole.type):
                    return whole
        bound = cast(self.bind(node.this), parse_type(target))
        if node.args.get("safe"):
            assert isinstance(bound, Cast)
            return Cast(bound.type, bound.operand, safe=True)
        return bound

    def _function(self, node: exp.Anonymous) -> Expr:
        name = str(node.this)
        args = node.expressions
        if name.lower() == "inside":
            return self._inside(args)
        python = self.functions.get(name.lower())
        if python is not None or is_aggregate(name):
            distinct = len(args) == 1 and isinstance(args[0], exp.Distinct)
            if distinct:
                if args[0].args.get("on") is not None:
                    raise ExpressionError("DISTINCT ON stands behind SELECT", hint="leave out ON (…)")
                args = args[0].expressions
            if python is not None:
                return apply(python, tuple(self.bind(a) for a in args), distinct=distinct)
            if len(args) == 1 and isinstance(args[0], exp.Star) and not any(args[0].args.values()):
                args = []
            bound = tuple(self.bind(a) for a in args)
            return aggregate(name, bound, self.schema, distinct=distinct)
        if name.lower() in CONVERSIONS and len(args) == 1:
            return cast(self.bind(args[0]), parse_type(name))
        if name.lower() in HIGHER:
            return self._higher(name, args)
        if name.lower() == "struct":
            return self._struct(args)
        if name.lower() in ("date_part", "datepart"):
            return date_part(tuple(Literal(STRING, a.name) if isinstance(a, exp.Var) else self.bind(a) for a in args))
        return call(name, *(self.bind(a) for a in args), known=[f.name for f in self.functions.values()])

    def _filtered(self, node: exp.Filter) -> Expr:
        of = self.bind(node.this)
        if not isinstance(of, Aggregate):
            raise ExpressionError(f"FILTER follows an aggregate, and {of} is none", hint="write CASE WHEN … THEN … END")
        return filtered(of, self.bind(node.expression.this))

    def _higher(self, name: str, args: list[exp.Expression]) -> Expr:
        def body(node: exp.Expression, variables: dict[str, Variable]) -> Expr:
            before, self.variables = self.variables, {**self.variables, **variables}
            try:
                return self.bind(node)
            finally:
                self.variables = before

        def function(node: exp.Expression, *types: Type) -> Lambda:
            if not isinstance(node, exp.Lambda):
                raise ExpressionError(f"{name} takes a function", hint="write for example x -> x + 1")
            return lambda_of(node.this, [v.name for v in node.expressions], types, body)

        return higher(name, args, self.bind, function)

    def _struct(self, args: list[exp.Expression]) -> Expr:
        """struct(a, b + 1 AS c): fields are called as they are written, as the attribute, or col1, col2, …"""
        parts: list[Expr] = []
        for k, a in enumerate(args, 1):
            value = self.bind(a.this if isinstance(a, exp.Alias) else a)
            default = value.name if isinstance(value, Column) else f"col{k}"
            parts += [Literal(STRING, a.alias if isinstance(a, exp.Alias) else default), value]
        return call("named_struct", *parts)

    def _inside(self, args: list[exp.Expression]) -> Expr:
        if len(args) != 3 or not isinstance(args[2], exp.Column):
            raise ExpressionError("inside takes two coordinates and the name of a region")
        x, y = self.bind(args[0]), self.bind(args[1])
        if not (x.type.is_numeric and y.type.is_numeric):
            raise ExpressionError(f"inside takes numbers as coordinates, not {x.type} and {y.type}")
        wanted = args[2].name.lower()
        found = next((r for name, r in self.regions.items() if name.lower() == wanted), None)
        if found is None:
            raise ExpressionError(f"unknown region {args[2].name!r}", hint=nearest(wanted, self.regions))
        return inside(x, y, found)
