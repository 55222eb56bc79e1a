"""Typed scalar expressions: frozen trees that print as the SQL they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache

from astralq.callables import PythonFunction
from astralq.datatypes import BOOLEAN, Type, Value, date_of, shortest_float32
from astralq.space import Region
from astralq.timeline import Duration, Instant, format_duration, format_instant


@dataclass(frozen=True, repr=False)
class Expr:
    """A scalar expression; `type` is what it gives."""

    type: Type

    @property
    def children(self) -> tuple[Expr, ...]:
        return ()

    def __repr__(self) -> str:
        return str(self)

    def rebuilt(self, children: tuple[Expr, ...]) -> Expr:
        """The same expression over other children."""
        assert not children
        return self

    def transform(self, f: Callable[[Expr], Expr]) -> Expr:
        """The expression with f applied to each part, innermost first.

        >>> from astralq.schema import INT
        >>> double = Call(INT, "+", (Column(INT, "a"), Column(INT, "a")))
        >>> double.transform(lambda e: Column(INT, "b") if e == Column(INT, "a") else e)
        b + b
        """
        children = tuple(c.transform(f) for c in self.children)
        same = all(a is b for a, b in zip(children, self.children, strict=True))
        return f(self if same else self.rebuilt(children))

    def walk(self) -> Iterator[Expr]:
        """This expression and all below it, outermost first."""
        yield self
        for c in self.children:
            yield from c.walk()

    @property
    def columns(self) -> frozenset[str]:
        """The names of the attributes that it reads, in lower case."""
        return frozenset(e.name.lower() for e in self.walk() if isinstance(e, Column))


@dataclass(frozen=True, repr=False)
class Column(Expr):
    """An attribute of the tuple at hand, or one of its pseudo-columns _t, _i, _n."""

    name: str

    def __str__(self) -> str:
        return quoted(self.name)


@dataclass(frozen=True, repr=False)
class Literal(Expr):
    """A constant; two are equal if nothing can tell them apart: NaN is equal to NaN, -0.0 is not equal to 0.0."""

    value: Value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (self.type, repr(self.value)) == (other.type, repr(other.value))

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))

    def __str__(self) -> str:
        return literal_text(self.value, self.type)


@dataclass(frozen=True, repr=False)
class Call(Expr):
    """A function or an operator applied to arguments that already have the types it wants."""

    function: str
    args: tuple[Expr, ...]

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args

    def rebuilt(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, args=children)

    def __str__(self) -> str:
        return _call_text(self)


@dataclass(frozen=True, repr=False)
class SparkCall(Call):
    """A function of Spark's, on types that the model does not compute it for: it runs on Spark only."""


@dataclass(frozen=True, repr=False)
class Variable(Expr):
    """A variable of a function that stands in an expression: the x of x -> x + 1."""

    name: str

    def __str__(self) -> str:
        return quoted(self.name)


@dataclass(frozen=True, repr=False)
class Lambda(Expr):
    """A function that stands in an expression, as an argument of transform and the like; its type is its body's."""

    variables: tuple[Variable, ...]
    body: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (*self.variables, self.body)

    def rebuilt(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, variables=children[:-1], body=children[-1])  # type: ignore[arg-type]  # or a plan's

    def __str__(self) -> str:
        named = ", ".join(map(str, self.variables))
        return f"{named if len(self.variables) == 1 else f'({named})'} -> {self.body}"


@dataclass(frozen=True, repr=False)
class Case(Expr):
    """CASE WHEN … THEN … ELSE … END; only the branch that is taken is computed."""

    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (*(e for branch in self.branches for e in branch), self.otherwise)

    def rebuilt(self, children: tuple[Expr, ...]) -> Expr:
        pairs = tuple(zip(children[:-1:2], children[1:-1:2], strict=True))
        return replace(self, branches=pairs, otherwise=children[-1])

    def __str__(self) -> str:
        whens = " ".join(f"WHEN {c} THEN {v}" for c, v in self.branches)
        return f"CASE {whens} ELSE {self.otherwise} END"


@dataclass(frozen=True, repr=False)
class Cast(Expr):
    """A change of type that fails loudly, as Spark's ANSI CAST; implicit ones are not printed.

    TRY_CAST is the safe one: it gives NULL where the cast fails.
    """

    operand: Expr
    implicit: bool = False
    safe: bool = False

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def rebuilt(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, operand=children[0])

    def __str__(self) -> str:
        if self.implicit:
            return str(self.operand)
        return f"{'TRY_CAST' if self.safe else 'CAST'}({self.operand} AS {self.type})"


@dataclass(frozen=True, repr=False)
class Inside(Expr):
    """inside(x, y, region): whether a location is in a region; its boundary counts as inside (004 Q2)."""

    x: Expr
    y: Expr
    region: Region

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.x, self.y)

    def rebuilt(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, x=children[0], y=children[1])

    def __str__(self) -> str:
        return f"inside({self.x}, {self.y}, {self.region.name})"


@dataclass(frozen=True, repr=False)
class PythonCall(Expr):
    """A function that a Python callable computes; a NULL among the arguments is its to see, as None."""

    function: PythonFunction
    args: tuple[Expr, ...]

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args

    def rebuilt(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, args=children)

    def __str__(self) -> str:
        return f"{quoted(self.function.name)}({', '.join(map(str, self.args))})"


@dataclass(frozen=True, repr=False)
class Aggregate(Expr):
    """An aggregate function over the tuples of a group; it stands only in an aggregation.

    `where` is the FILTER of those that count NULL; of all others it is in the arguments (`expr/filters.py`).
    `python` is what computes one that is not of the language.
    """

    function: str
    args: tuple[Expr, ...]
    distinct: bool = False
    where: Expr | None = field(default=None, metadata={"later": True})  # algebra.digest.LATER, which stands above
    python: PythonFunction | None = field(default=None, metadata={"later": True})

    @property
    def counts_null(self) -> bool:
        """Whether a NULL is a value like others."""
        return self.python is not None or self.function in ("first", "last")

    @property
    def of_spark(self) -> bool:
        """Whether it is one of Spark's that the language has no definition of its own for (`spark_aggregates.py`)."""
        return self.python is None and self.function not in AGGREGATES

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args if self.where is None else (*self.args, self.where)

    def rebuilt(self, children: tuple[Expr, ...]) -> Expr:
        args = children[: len(self.args)]
        return replace(self, args=args, where=None if self.where is None else children[-1])

    def __str__(self) -> str:
        where, args = (self.where, self.args) if self.counts_null else _unfiltered(self)
        inside = ", ".join(map(str, args))
        if self.function in SPATIAL_AGGREGATES:
            inside = ""
        elif self.function == "count" and (not args or (where is not None and inside == "1" and not self.distinct)):
            inside = "*"
        name = self.function if self.python is None else quoted(self.function)
        text = f"{name}({'DISTINCT ' if self.distinct else ''}{inside})"
        return text if where is None else f"{text} FILTER (WHERE {where})"


def _unfiltered(a: Aggregate) -> tuple[Expr | None, tuple[Expr, ...]]:
    """The condition that all arguments but constants are computed under, if there is one, and what they are then."""
    cases = [x for x in a.args if isinstance(x, Case)]
    rest = [x for x in a.args if not isinstance(x, Case | Literal)]
    if not cases or rest or any(len(c.branches) != 1 or not _is_null(c.otherwise) for c in cases):
        return None, a.args
    conditions = {c.branches[0][0] for c in cases}
    if len(conditions) != 1:
        return None, a.args
    return conditions.pop(), tuple(x.branches[0][1] if isinstance(x, Case) else x for x in a.args)


def _is_null(e: Expr) -> bool:
    while isinstance(e, Cast) and e.implicit:
        e = e.operand
    return isinstance(e, Literal) and e.value is None


SPATIAL_AGGREGATES = ("path_length", "average_speed")
VARIANCES = ("stddev", "stddev_pop", "variance", "var_pop")
AGGREGATES = (
    *("count", "sum", "avg", "min", "max", "first", "last", "count_distinct", "median", "percentile"),
    *VARIANCES,
    *SPATIAL_AGGREGATES,
)

TRUE = Literal(BOOLEAN, True)


def inside(x: Expr, y: Expr, region: Region) -> Inside:
    return Inside(BOOLEAN, x, y, region)


@lru_cache(maxsize=4096)
def quoted(name: str) -> str:
    """The name as it is written in SQL: in backticks unless it reads as a name without them.

    >>> quoted("value"), quoted("null"), quoted("a b")
    ('value', '`null`', '`a b`')
    """
    from astralq.expr.parse import reads_as_name  # the grammar decides, and it stands above the nodes

    return name if reads_as_name(name) else "`" + name.replace("`", "``") + "`"


def literal_text(value: Value, type_: Type) -> str:
    """The SQL text of a constant."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    match type_.name:
        case "STRING":
            return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
        case "TIMESTAMP":
            assert isinstance(value, int)
            return f"TIMESTAMP '{format_instant(Instant(value))}'"
        case "INTERVAL":
            assert isinstance(value, int)
            return f"INTERVAL {format_duration(Duration(value))}"
        case "DATE":
            assert isinstance(value, int)
            return f"DATE '{date_of(value).isoformat()}'"
        case "MONTHS":
            assert isinstance(value, int)
            sign = "-" if value < 0 else ""
            return f"INTERVAL '{sign}{abs(value) // 12}-{abs(value) % 12}' YEAR TO MONTH"
        case "BINARY":
            assert isinstance(value, bytes)
            return f"X'{value.hex().upper()}'"
        case "DOUBLE" | "FLOAT":
            assert isinstance(value, float)
            if value != value or value in (float("inf"), float("-inf")):
                return f"CAST('{value}' AS {type_})"
            return f"{value!r}D" if type_.name == "DOUBLE" else f"{shortest_float32(value)!r}F"
        case "DECIMAL":
            assert isinstance(value, Decimal)
            text = f"{value:f}"
            return text if "." in text else f"{text}BD"
        case "TINYINT" | "SMALLINT" | "BIGINT":
            return str(value) + {"TINYINT": "Y", "SMALLINT": "S", "BIGINT": "L"}[type_.name]
    return str(value)


# How tightly an operator binds; an argument that binds less tightly is put in parentheses.
_BINDING = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(
        ["=", "<>", "<", "<=", ">", ">=", "<=>", "in", "like", "ilike", "rlike", "between", "isnull", "isnotnull"], 4
    ),
    "|": 5,
    "^": 6,
    "&": 7,
    **dict.fromkeys(["+", "-", "||"], 8),
    **dict.fromkeys(["*", "/", "%", "div"], 9),
    **dict.fromkeys(["negate", "~"], 10),
}


def _call_text(call: Call) -> str:
    f = call.function
    bind = _BINDING.get(f)
    if bind is None:
        if f == "[]":
            return f"{_operand(call.args[0])}[{call.args[1]}]"
        return f"{f}({', '.join(map(str, call.args))})"
    # The first argument of a left-associative operator may bind equally; comparisons do not chain.
    first = _wrapped(call.args[0], bind + (bind == 4))
    rest = [_wrapped(a, bind + 1) for a in call.args[1:]]
    match f:
        case "not":
            return f"NOT {first}"
        case "negate":
            # -(1) is not the constant -1, and must not read back as it.
            plain = not isinstance(call.args[0], Literal) and not first.startswith("-")
            return f"-{first}" if plain else f"-({first})"
        case "~":
            return f"~{first}"
        case "isnull" | "isnotnull":
            return f"{first} IS NULL" if f == "isnull" else f"{first} IS NOT NULL"
        case "in":
            return f"{first} IN ({', '.join(str(a) for a in call.args[1:])})"
        case "between":
            return f"{first} BETWEEN {rest[0]} AND {rest[1]}"
    return f" {f.upper()} ".join([first, *rest])


def _operand(e: Expr) -> str:
    """What stands before a bracket: constants and operators in parentheses."""
    shown = e
    while isinstance(shown, Cast) and shown.implicit:
        shown = shown.operand
    operator = isinstance(shown, Call) and shown.function in _BINDING
    return f"({e})" if operator or isinstance(shown, Literal | Case) else str(e)


def _wrapped(e: Expr, bind: int) -> str:
    shown = e
    while isinstance(shown, Cast) and shown.implicit:
        shown = shown.operand
    inner = _BINDING.get(shown.function) if isinstance(shown, Call) else None
    negative = isinstance(shown, Literal) and str(shown).startswith("-") and bind > 8
    return f"({e})" if negative or (inner is not None and inner < bind) else str(e)
