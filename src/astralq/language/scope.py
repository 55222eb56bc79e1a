"""Names in a query: which attribute of the operator at hand a column means, of which item of FROM."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from astralq.algebra.base import STAMP, Operator
from astralq.algebra.bounds import the_window
from astralq.algebra.computed import FILE
from astralq.algebra.relational import Project
from astralq.algebra.retention import window_below
from astralq.algebra.session_bounds import BOUNDS
from astralq.algebra.windows import range_of
from astralq.errors import ExpressionError, SchemaError, nearest
from astralq.expr.aggregates import aggregate
from astralq.expr.functions import call
from astralq.expr.nested import field_of
from astralq.expr.nodes import Call, Column, Expr, Literal
from astralq.expr.parse import Binder, Known
from astralq.language.hints import OF_INSTANTS, OF_WINDOWS, PLACES, WINDOW_COLUMNS, hint_for_function
from astralq.schema import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Attribute, Schema

PSEUDO = tuple(a.name for a in STAMP)
TAGS = {"tick": "_t", "index": "_n"}
"""003's names of pseudo-columns."""


GROUPING = {"grouping": INT, "grouping_id": BIGINT}
"""Functions that tell which keys a row's grouping set has; each set knows their values."""


def refuse_grouping(exprs: Iterable[Expr]) -> None:
    """An error for grouping(…) in a query that does not group."""
    for e in (part for x in exprs for part in x.walk()):
        if isinstance(e, Call) and e.function in GROUPING:
            raise ExpressionError(f"{e} belongs to GROUP BY", hint="it tells the sets of GROUPING SETS apart")


@dataclass
class Entry:
    """An item of FROM: its alias, and its columns as (name in the query, attribute of the operator)."""

    alias: str | None
    columns: list[tuple[str, str]]
    hidden: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> str | None:
        """The attribute of one of its columns."""
        wanted = name.lower()
        return next((a for n, a in self.columns if n.lower() == wanted), None)

    def find_hidden(self, name: str) -> str | None:
        """The attribute of what `*` does not show: its pseudo-columns, and what USING took from the other side."""
        return self.hidden.get(name.lower())


@dataclass
class Scope:
    """The items of a FROM and the operator that has all of their attributes; `outer` for a correlated subquery."""

    operator: Operator
    entries: list[Entry]
    outer: Scope | None = None
    star: list[tuple[str, str]] | None = None
    tagged: bool = False  # SNEEql's tuples have a tick and an index
    bounded: bool = False  # whether window_start and window_end may be named: in SELECT, GROUP BY and HAVING
    bare_text: bool = False  # 004's FROM R = …, in which a name that nothing has is a text: R.ID = mycar

    @property
    def columns(self) -> list[tuple[str, str]]:
        """What * shows, in order, as (name in the query, attribute of the operator)."""
        return [c for e in self.entries for c in e.columns] if self.star is None else self.star

    @property
    def shown(self) -> Operator:
        """What * shows, as an operator."""
        if len(self.columns) == len(self.operator.schema):
            return self.operator
        return Project(self.operator, tuple((n, Column(self.schema[a].type, a)) for n, a in self.columns))

    @property
    def taken(self) -> set[str]:
        """The names of attributes that must not be used again, in lower case."""
        own = {n.lower() for n in self.operator.schema.names}
        return own | (self.outer.taken if self.outer is not None else set())

    @property
    def schema(self) -> Schema:
        """What expressions may read: the operator's attributes and pseudo-columns, and the outer query's attributes."""
        readable = self.operator.readable
        if self.outer is None:
            return readable
        return Schema(readable.attributes + self.outer._attributes(), readable.location)

    def _attributes(self) -> tuple[Attribute, ...]:
        own = self.operator.schema.attributes
        return own if self.outer is None else own + self.outer._attributes()

    def resolve(self, name: str, qualifier: str | None) -> str:
        """The attribute that a column means."""
        entries = self._entries(qualifier)
        found = [(e, a) for e in entries if (a := e.find(name)) is not None]
        found = found or [(e, a) for e in entries if (a := e.find_hidden(name)) is not None]
        if len(found) > 1:
            choices = " or ".join(f"{e.alias}.{name}" for e, _ in found)
            raise SchemaError(f"{name!r} is ambiguous", hint=f"write {choices}")
        if found:
            return found[0][1]
        if name.lower() in PSEUDO and self.operator.stamped and entries:
            return name.lower()
        if self.outer is not None:
            try:
                return self.outer.resolve(name, qualifier)
            except SchemaError:
                pass
        raise self._unknown(name, qualifier)

    def _entries(self, qualifier: str | None) -> list[Entry]:
        if qualifier is None:
            return self.entries
        return [e for e in self.entries if e.alias is not None and e.alias.lower() == qualifier.lower()]

    def is_alias(self, name: str) -> bool:
        """Whether an item of FROM is called so."""
        return bool(self._entries(name))

    def _unknown(self, name: str, qualifier: str | None) -> SchemaError:
        if qualifier is not None and not self._entries(qualifier):
            aliases = [e.alias for e in self.entries if e.alias is not None]
            return SchemaError(f"{qualifier!r} is not in FROM", hint=nearest(qualifier, aliases))
        names = [n for e in self._entries(qualifier) for n, _ in e.columns]
        if name.lower() == FILE.name:
            return SchemaError(
                f"{FILE.name} is there only for tuples of a source FROM csv, json or parquet",
                hint="behind a query or a view it has to be selected: SELECT *, _file FROM …",
            )
        if name.lower() in PSEUDO:
            return SchemaError(
                f"{name} is there only for tuples of a stream", hint="use it before joining or aggregating them"
            )
        hint = OF_INSTANTS if name.lower() in WINDOW_COLUMNS else nearest(name, names)
        if name.lower() in BOUNDS:
            hint = OF_WINDOWS
        if f"_{name.lower()}" in PSEUDO and self.operator.stamped:
            hint = f"did you mean '_{name.lower()}'?"
        return SchemaError(
            f"unknown attribute {name!r}: the attributes are {', '.join(dict.fromkeys(names))}", hint=hint
        )


Place = Callable[[exp.Window], Expr]
"""What a ROW_NUMBER() OVER (…) is: the attribute that has it."""


class ScopeBinder(Binder):
    """Binds expressions in a scope: qualified names, 004's AvgSpd(R)."""

    def __init__(
        self,
        scope: Scope,
        known: Known,
        source: str,
        aliases: dict[str, Expr] | None = None,
        place: Place | None = None,
    ) -> None:
        super().__init__(scope.schema, known, source)
        self.scope = scope
        self.aliases = aliases or {}
        self.place = place  # where a ROW_NUMBER() may stand

    def column(self, node: exp.Column) -> Expr:
        if (field := self._field(node)) is not None:
            return field
        if node.args.get("db") is not None or node.args.get("catalog") is not None:
            raise ExpressionError(f"{node.sql()} has too many parts", hint="write alias.attribute")
        try:
            name = self.scope.resolve(node.name, node.table or None)
        except SchemaError as e:
            # HAVING may use the names that SELECT gives.
            if not node.table and node.name.lower() in self.aliases:
                return self.aliases[node.name.lower()]
            if self.scope.tagged and node.name.lower() in TAGS:
                return self._tag(node)
            if self.scope.bounded and not node.table and node.name.lower() in BOUNDS:
                the_window(self.scope.operator)
                return Column(TIMESTAMP, node.name.lower())
            if self.scope.bare_text and not node.table and not (e.hint or "").startswith("did you mean"):
                return Literal(STRING, node.name)
            raise
        attribute = self.schema[name]
        return Column(attribute.type, attribute.name)

    def _field(self, node: exp.Column) -> Expr | None:
        """A field of a STRUCT: attribute.field, alias.attribute.field; None where the name can be read otherwise."""
        parts = [part.name for part in node.parts]
        for k in (1, 2):
            if len(parts) <= k:
                break
            try:
                name = self.scope.resolve(parts[k - 1], parts[0] if k == 2 else None)
            except SchemaError:
                continue
            attribute = self.schema[name]
            qualifies = k == 1 and self.scope.is_alias(parts[0])
            if attribute.type.holds("STRUCT") and not qualifies:
                found: Expr = Column(attribute.type, attribute.name)
                for part in parts[k:]:
                    found = field_of(found, part)
                return found
        return None

    def _tag(self, node: exp.Column) -> Expr:
        """003's implicit attributes: tick is the timestamp of a tuple, index its position, counted from 1."""
        name = self.scope.resolve(TAGS[node.name.lower()], node.table or None)
        found: Expr = Column(self.schema[name].type, self.schema[name].name)
        return call("+", found, Literal(BIGINT, 1)) if node.name.lower() == "index" else found

    def _bind(self, node: exp.Expression) -> Expr:
        if isinstance(node, exp.Window):
            if self.place is None:
                raise ExpressionError("OVER stands in SELECT, QUALIFY and ORDER BY", hint=PLACES)
            return self.place(node)
        return super()._bind(node)

    def _function(self, node: exp.Anonymous) -> Expr:
        if str(node.this).lower() in GROUPING:
            args = tuple(self.bind(a) for a in node.expressions)
            if str(node.this).lower() == "grouping" and len(args) != 1:
                raise ExpressionError(f"grouping takes 1 argument, not {len(args)}", hint="grouping_id takes several")
            return Call(GROUPING[str(node.this).lower()], str(node.this).lower(), args)
        if (hint := hint_for_function(str(node.this))) is not None:
            raise ExpressionError(f"unknown function {str(node.this)!r}", hint=hint)
        if str(node.this).lower() in ("avgspd", "average_speed", "path_length"):
            aliases = {(e.alias or "").lower() for e in self.scope.entries}
            if [a.name.lower() for a in node.expressions if isinstance(a, exp.Column)] == [
                n for n in (a.name.lower() for a in node.expressions) if n in aliases
            ]:
                divided = self._over_a_range() if str(node.this).lower() == "avgspd" else None
                if divided is not None:
                    return divided
                node = exp.Anonymous(this=node.this, expressions=[])
        return super()._function(node)

    def _over_a_range(self) -> Expr | None:
        """004 Q1: over a window of a length of time, AvgSpd(R) is the distance in it by that length, in km/h."""
        window = window_below(self.scope.operator)
        width = None if window is None else range_of(window.spec)
        if not width:
            return None
        path = aggregate("path_length", (), self.schema)
        # m / 1000 = km, µs / (3600 · 10^6) = h, so km/h = m · 3_600_000 / µs
        metres = call("*", path, Literal(DOUBLE, 3_600_000.0))
        return call("/", metres, Literal(DOUBLE, float(width)))
