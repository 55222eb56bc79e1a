"""Relational operators (001 §4, 002 §4). σ, Π, ρ and aggregation also stand over streams of tuples or windows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from astralq.algebra.base import RELATION_HINT, Kind, Operator, Unary, expect
from astralq.algebra.digest import LATER
from astralq.algebra.panes import CommonPanes
from astralq.errors import PlanError, SchemaError, TypeMismatchError
from astralq.expr.conditions import conjuncts
from astralq.expr.functions import call
from astralq.expr.nodes import TRUE, Aggregate, Call, Column, Expr
from astralq.schema import BOOLEAN, NULL, Attribute, Location, Schema

Named = tuple[str, Expr]


def check_reads(expr: Expr, readable: Schema, what: str) -> None:
    """An error unless the expression names only attributes that are there, with their types."""
    for e in expr.walk():
        if isinstance(e, Column):
            found = readable[e.name]
            if found.type != e.type:
                raise TypeMismatchError(f"in {what}: {e.name!r} is {found.type}, not {e.type}")
        if isinstance(e, Aggregate):
            raise PlanError(f"{e} stands in {what}", hint="aggregate first: aggregate(…), or GROUP BY and HAVING")


def check_condition(condition: Expr, readable: Schema, what: str) -> None:
    """An error unless it is a condition over the attributes."""
    if condition.type not in (BOOLEAN, NULL):
        raise TypeMismatchError(
            f"the condition {condition} of {what} is {condition.type}, not BOOLEAN",
            hint="compare it with something",
        )
    check_reads(condition, readable, what)


@dataclass(frozen=True, repr=False)
class Select(Unary):
    """σ: keeps the tuples for which the condition is true; φ and batches stay (001 §4.1, D30; 003 StreamSelect,
    WindowSelect)."""

    condition: Expr

    def check(self) -> None:
        check_condition(self.condition, self.child.readable, "a selection")

    @property
    def label(self) -> str:
        return f"SELECT {self.condition}"


@dataclass(frozen=True, repr=False)
class Project(Unary):
    """Π: computes attributes from a tuple; φ, batches and stamps stay (001 §4.1, §5.3.1; 003 StreamProject,
    WindowProject). A location passes through if both of its attributes do."""

    items: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        if not self.items:
            raise PlanError("Π of nothing", hint="name at least one attribute")
        attributes = tuple(Attribute(name, e.type) for name, e in self.items)
        return Schema(attributes, _location_of(self.child.schema, self.items))

    def check(self) -> None:
        for _, e in self.items:
            check_reads(e, self.child.readable, "a projection")

    @property
    def label(self) -> str:
        return f"PROJECT {named_text(self.items)}"


@dataclass(frozen=True, repr=False)
class Rename(Unary):
    """ρ: gives attributes new names, as pairs (old, new) (001 §4.1)."""

    names: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        # One form for one renaming: in the order of the attributes, with their own spelling.
        order = sorted((self.child.schema.index(old), new) for old, new in self.names)
        names = tuple((self.child.schema.names[k], new) for k, new in order if self.child.schema.names[k] != new)
        object.__setattr__(self, "names", names)

    @cached_property
    def schema(self) -> Schema:
        new = {self.child.schema[old].name: name for old, name in self.names}
        if len(new) != len(self.names):
            raise PlanError("ρ renames an attribute twice", hint="name each attribute once")
        old_location = self.child.schema.location
        location = None
        if old_location is not None:
            x, y = (new.get(self.child.schema[n].name, n) for n in (old_location.x, old_location.y))
            location = Location(x, y, old_location.planar)
        attributes = tuple(Attribute(new.get(a.name, a.name), a.type) for a in self.child.schema)
        return Schema(attributes, location)

    @property
    def label(self) -> str:
        return "RENAME " + ", ".join(f"{old} AS {new}" for old, new in self.names)


def peel(op: Operator, *kinds: type[Unary]) -> tuple[list[Unary], Operator]:
    """The operators of some kinds at the top of a chain, by default σ, Π and ρ, outermost first; and what is below."""
    above: list[Unary] = []
    while isinstance(op, Unary) and isinstance(op, kinds or (Select, Project, Rename)):
        above.append(op)
        op = op.child
    return above, op


def copy_phi(child: Operator, name: str) -> Project:
    """ρ_{name/φ}: copies the physical identifier, a position, into an attribute (001 §4.1)."""
    items = [(a.name, Column(a.type, a.name)) for a in child.schema]
    return Project(child, (*items, (name, Column(child.readable["_n"].type, "_n"))))


def _location_of(schema: Schema, items: tuple[Named, ...]) -> Location | None:
    """The location of a projection: under its new names, if both attributes are in it unchanged."""
    if schema.location is None:
        return None
    found = [
        next((name for name, e in items if isinstance(e, Column) and e.name.lower() == n.lower()), None)
        for n in (schema.location.x, schema.location.y)
    ]
    if found[0] is None or found[1] is None:
        return None
    return Location(found[0], found[1], schema.location.planar)


def named_text(items: tuple[Named, ...]) -> str:
    return ", ".join(str(e) if str(e) == name else f"{e} AS {name}" for name, e in items)


@dataclass(frozen=True, repr=False)
class GroupBy(Unary):
    """Aggregation: a row for each group, ordered and identified by the grouping key (docs/decisions.md).

    Without keys it is global: always exactly one row, unless `empty_row` is off (the CQL dialect's rule).
    """

    keys: tuple[Named, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    empty_row: bool = True
    panes: CommonPanes | None = None  # that it is answered from, where other queries have some in common with it

    @property
    def stamped(self) -> bool:
        return False

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Attribute(name, e.type) for name, e in (*self.keys, *self.aggregates)))

    def check(self) -> None:
        if self.child.kind is Kind.STREAM:
            raise PlanError(
                f"an aggregate over a bare stream never ends:\n{self.child}",
                hint="take a window first, for example [RANGE 10 MINUTES] or [UNBOUNDED]",
            )
        if not self.keys and not self.aggregates:
            raise PlanError("an aggregation without keys and aggregates", hint="name at least one")
        for _, e in self.keys:
            check_reads(e, self.child.readable, "the grouping key")
        for _, a in self.aggregates:
            for arg in a.children:
                check_reads(arg, self.child.readable, str(a))

    @property
    def label(self) -> str:
        by = f" BY {named_text(self.keys)}" if self.keys else ""
        return f"AGGREGATE {named_text(self.aggregates)}{by}"


@dataclass(frozen=True, repr=False)
class _Binary(Operator):
    """An operator over two relations."""

    left: Operator
    right: Operator

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    def check(self) -> None:
        for side in (self.left, self.right):
            expect(side, Kind.RELATION, self.label, RELATION_HINT)


@dataclass(frozen=True, repr=False)
class Product(_Binary):
    """×: every pair, φ = φ_left ++ φ_right, left first (001 D17, 002 D10)."""

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema.concat(self.right.schema)

    @property
    def label(self) -> str:
        return "PRODUCT"


class JoinKind(Enum):
    """What becomes of tuples that match, and of those that do not."""

    INNER = "JOIN"
    LEFT = "LEFT JOIN"
    RIGHT = "RIGHT JOIN"
    FULL = "FULL JOIN"
    SEMI = "SEMI JOIN"
    ANTI = "ANTI JOIN"
    SINGLE = "SINGLE JOIN"


@dataclass(frozen=True, repr=False)
class Join(_Binary):
    """⋈_θ: the pairs that satisfy a condition (001 §4.4, D20; 002 §4.3).

    Inner: φ_left ++ φ_right. Semi and anti: φ_left. Outer: an unmatched left tuple has φ_left ++ (⊥), which is
    first among those with its φ_left; unmatched right tuples come last. Single: every left tuple once, with φ_left, and
    with its match or NULLs; the condition has to fix a key of the right side, so that there is at most one. It is what
    subqueries in expressions are made of: whether there is a match makes no other tuple.
    """

    condition: Expr = TRUE
    how: JoinKind = JoinKind.INNER

    @cached_property
    def both(self) -> Schema:
        return self.left.schema.concat(self.right.schema)

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema if self.keeps_left else self.both

    @property
    def keeps_left(self) -> bool:
        return self.how in (JoinKind.SEMI, JoinKind.ANTI)

    @property
    def stamped(self) -> bool:
        return (self.keeps_left or self.how is JoinKind.SINGLE) and self.left.stamped

    def check(self) -> None:
        super().check()
        check_condition(self.condition, self.both, "the join")
        if self.how is JoinKind.SINGLE and not self._finds_at_most_one():
            raise PlanError(
                f"a SINGLE JOIN may find several rows ON {self.condition}",
                hint="compare a key of the right side, for example what it is grouped by; or use a LEFT JOIN",
            )

    def _finds_at_most_one(self) -> bool:
        """Whether the condition says what a key of the right side is equal to."""
        from astralq.algebra.properties import properties

        fixed = set[str]()
        for part in conjuncts(self.condition):
            if isinstance(part, Call) and part.function in ("=", "<=>"):
                for one, other in (part.args, part.args[::-1]):
                    if isinstance(one, Column) and one.name in self.right.schema:
                        fixed |= set() if other.columns & {n.lower() for n in self.right.schema.names} else one.columns
        return any(key <= fixed for key in properties(self.right).keys)

    @property
    def label(self) -> str:
        return f"{self.how.value} ON {self.condition}"


def same_attributes(left: Operator, right: Operator, names: tuple[str, ...]) -> tuple[Operator, Expr, dict[str, str]]:
    """The right side with the named attributes renamed apart, the condition that they are equal, and the new names."""
    taken = {n.lower() for n in (*left.schema.names, *right.schema.names)}
    apart: dict[str, str] = {}
    for name in names:
        new = name
        while new.lower() in taken:
            new += "_r"
        taken.add(new.lower())
        apart[name] = new
    renamed = Rename(right, tuple(apart.items())) if apart else right
    condition: Expr = TRUE
    for name, new in apart.items():
        pair = call("=", Column(left.schema[name].type, name), Column(renamed.schema[new].type, new))
        condition = pair if condition == TRUE else call("and", condition, pair)
    return renamed, condition, apart


def natural_join(left: Operator, right: Operator) -> Operator:
    """⋈: equal in all common attributes, which stand once in the result (001 D20)."""
    common = tuple(n for n in left.schema.names if n in right.schema)
    renamed, condition, _ = same_attributes(left, right, common)
    joined = Join(left, renamed, condition)
    wanted = [*left.schema, *(a for a in right.schema if a.name not in left.schema)]
    return Project(joined, tuple((a.name, Column(a.type, a.name)) for a in wanted))


class SetKind(Enum):
    UNION = "UNION"
    INTERSECT = "INTERSECT"
    EXCEPT = "EXCEPT"


def _same_schema(left: Operator, right: Operator, what: str) -> None:
    a, b = left.schema, right.schema
    if len(a) != len(b):
        raise SchemaError(
            f"{what}: the left side has {len(a)} attributes ({a}), the right side {len(b)} ({b})",
            hint="project both sides to the same attributes",
        )
    for x, y in zip(a, b, strict=True):
        if x.type != y.type:
            raise SchemaError(f"{what}: {x.name} is {x.type} on the left, {y.name} is {y.type} on the right")


@dataclass(frozen=True, repr=False)
class SetOperation(_Binary):
    """∪, ∩ and −, where φ counts (001 D18, D19; 002 D11).

    The union tags: φ = (0) ++ φ_left or (1) ++ φ_right. One `in_order` keeps φ, and the side decides only behind it,
    φ ++ (0) or φ ++ (1): both sides' tuples in the order of one stream, as the parts of a partitioned window are
    (002 §5.2, §6). ∩ and − keep φ_left, and two tuples are equal if their φ and all their values are.
    """

    how: SetKind
    in_order: bool = field(default=False, metadata=LATER)

    @cached_property
    def schema(self) -> Schema:
        _same_schema(self.left, self.right, self.how.value)
        return self.left.schema

    def check(self) -> None:
        super().check()
        from astralq.algebra.phi import ordered_or_chosen, phi_form

        if self.in_order or self.how is not SetKind.UNION:
            for side in (self.left, self.right):
                if (chosen := ordered_or_chosen(side)) is not None:
                    raise PlanError(
                        f"{self.label} goes by φ, and {chosen.label} below it decides what φ is, or which are there",
                        hint=f"go by value: {self.how.value}{' ALL' * self.in_order}; or order and choose above",
                    )
        if not self.in_order:
            return

        if self.how is not SetKind.UNION:
            raise PlanError(f"{self.how.value} keeps the order of its left side", hint="leave out IN ORDER")
        if phi_form(self.left) != phi_form(self.right):
            raise PlanError(
                "the two sides have no common order: φ is made of other parts on the left than on the right",
                hint="UNION ALL puts the left side first; IN ORDER is for windows over one stream",
            )

    @property
    def stamped(self) -> bool:
        return self.left.stamped and (self.how is not SetKind.UNION or self.right.stamped)

    @property
    def label(self) -> str:
        return f"{self.how.value} {'IN ORDER' if self.in_order else 'BY φ'}"


@dataclass(frozen=True, repr=False)
class ValueSetOperation(_Binary):
    """UNION, INTERSECT and EXCEPT by value (docs/decisions.md; SQL's sets, and bags with `all`).

    Sets are ordered and identified by value, NULLs first. With `all`, EXCEPT drops the lowest φ first and
    INTERSECT keeps those, both with φ_left. (UNION ALL is the tagged union of SetOperation.)
    """

    how: SetKind
    all: bool = False

    @cached_property
    def schema(self) -> Schema:
        _same_schema(self.left, self.right, self.how.value)
        return self.left.schema

    def check(self) -> None:
        super().check()
        if self.how is SetKind.UNION and self.all:
            raise PlanError("UNION ALL is the union by φ", hint="use SetOperation(…, SetKind.UNION)")

    @property
    def label(self) -> str:
        return f"{self.how.value}{' ALL' if self.all else ''}"


@dataclass(frozen=True, repr=False)
class Distinct(Unary):
    """The different values of a relation, ordered and identified by value."""

    @property
    def stamped(self) -> bool:
        return False

    def check(self) -> None:
        if self.child.kind is Kind.STREAM:
            raise PlanError("DISTINCT over a bare stream never ends", hint=RELATION_HINT)

    @property
    def label(self) -> str:
        return "DISTINCT"


@dataclass(frozen=True, repr=False)
class Divide(_Binary):
    """÷: the values of the left side's other attributes that go with every tuple of the right (001 §4.4)."""

    @cached_property
    def schema(self) -> Schema:
        missing = [n for n in self.right.schema.names if n not in self.left.schema]
        if missing:
            raise SchemaError(f"÷: the left side has no attribute {missing[0]!r}")
        rest = tuple(a for a in self.left.schema if a.name not in self.right.schema)
        if not rest:
            raise SchemaError("÷: the right side has every attribute of the left", hint="nothing would be left")
        for a in self.right.schema:
            if self.left.schema[a.name].type != a.type:
                raise SchemaError(f"÷: {a.name} is {self.left.schema[a.name].type} on the left, {a.type} on the right")
        return Schema(rest)

    @property
    def label(self) -> str:
        return "DIVIDE"
