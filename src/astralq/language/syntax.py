"""What the grammar gives: sqlglot's nodes for expressions and SELECT, and these for what streams need besides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from astralq.algebra.sources import Origin
from astralq.errors import Span

GENERATORS = ("explode", "explode_outer", "posexplode", "posexplode_outer")
"""The functions that stand in FROM, and make several tuples of one."""

STREAMERS = ("ISTREAM", "DSTREAM", "RSTREAM")


@dataclass(frozen=True)
class Name:
    """A name and where it stands."""

    text: str
    span: Span


@dataclass(frozen=True)
class ColumnDef:
    """A declared attribute, with its type as text; a computed one has its expression, and need not say its type."""

    name: Name
    type: Name | None
    computed: exp.Expression | None = None


@dataclass(frozen=True)
class Moment:
    """When a row happens: an attribute, with a unit if it is a number; or an expression, whose text is the column."""

    column: Name
    unit: Name | None = None
    computed: exp.Expression | None = None


@dataclass(frozen=True)
class StreamDeclaration:
    """CREATE STREAM."""

    name: Name
    columns: tuple[ColumnDef, ...]
    origin: Origin | None = None
    sensed: bool = False
    every: Name | None = None
    sites: tuple[Any, ...] = ()
    designation: Any = None  # the query that says which sites are asked
    timestamp: Moment | None = None
    on_arrival: bool = False
    position_by: tuple[Name, ...] = ()
    descending: tuple[Name, ...] = ()  # of POSITION BY
    batch_by: Name | None = None
    batch_each_row: bool = False
    location: tuple[Name, Name] | None = None
    planar: bool = False
    lateness: Name | None = None
    progress: bool = False
    heartbeat: Name | None = None


@dataclass(frozen=True)
class Bind:
    """BIND name TO a source: what a declaration without one is completed by."""

    name: Name
    clauses: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class RelationDeclaration:
    """CREATE RELATION."""

    name: Name
    columns: tuple[ColumnDef, ...]
    origin: Origin | None = None
    valid_from: Moment | None = None
    valid_to: Name | None = None
    change: Name | None = None
    at: Moment | None = None
    key: tuple[Name, ...] = ()
    position_by: tuple[Name, ...] = ()
    descending: tuple[Name, ...] = ()  # of POSITION BY


@dataclass(frozen=True)
class RegionDeclaration:
    """CREATE REGION name AS 'wkt'."""

    name: Name
    wkt: Name


@dataclass(frozen=True)
class FunctionDeclaration:
    """CREATE [AGGREGATE] FUNCTION name (types) RETURNS type AS python 'module:callable' [DETERMINISTIC]."""

    name: Name
    parameters: tuple[Name, ...]
    result: Name
    path: Name
    deterministic: bool
    aggregate: bool


@dataclass(frozen=True)
class ViewDeclaration:
    """CREATE VIEW name AS query."""

    name: Name
    query: exp.Expression


@dataclass(frozen=True)
class StartAt:
    """START AT TIMESTAMP '…': t0 for the statements that follow."""

    moment: Name


@dataclass(frozen=True)
class SetTick:
    """SET TICK duration, in the cql dialect."""

    duration: Name


@dataclass(frozen=True)
class QueryStatement:
    """A query, and where INSERT INTO sends its answer."""

    query: exp.Expression
    text: str
    sink: Origin | None = None
    line: int = 1


@dataclass(frozen=True)
class BrokenDeclaration:
    """A declaration that could not be read, but for its name."""

    name: str


Parsed = (
    BrokenDeclaration
    | StreamDeclaration
    | RelationDeclaration
    | RegionDeclaration
    | FunctionDeclaration
    | ViewDeclaration
    | StartAt
    | SetTick
    | Bind
    | QueryStatement
)


@dataclass(frozen=True)
class Bracket:
    """[…] after a stream or relation: its inside as text, and where that begins in the source."""

    text: str
    start: int
    span: Span


@dataclass(frozen=True)
class Past:
    """D_c^f: AT TIMESTAMP '…', AT START (no moment), DELAYED BY a duration, AT LAST BATCH OF a stream, or DURING
    half-open intervals of times."""

    moment: Name | None = None
    delay: Name | None = None
    stream: exp.Expression | None = None
    during: tuple[tuple[Name, Name | None], ...] = ()


Postfix = Bracket | Past


class ParsedStatement(exp.Expression):
    """Carries a parsed statement through sqlglot's parser."""

    arg_types = {"value": True}  # noqa: RUF012


class Item(exp.Expression):
    """An item of FROM: a table, a parenthesised query, a spread or a streamer, with what follows it."""

    arg_types = dict.fromkeys(("this", "postfixes", "alias", "assigned", "joins", "as_of"), False)

    @property
    def postfixes(self) -> list[Postfix]:
        return self.args.get("postfixes") or []


class DivideBy(exp.SetOperation):
    """a DIVIDE BY b."""


class SpreadItem(exp.Expression):
    """SPREAD [ALL] (item [BY attributes])."""

    arg_types = {"this": True, "all": False, "by": False}  # noqa: RUF012


class StreamerQuery(exp.Expression):
    """ISTREAM(q), DSTREAM(q) or RSTREAM(q), with EVERY d, ON INSERT or ON EVALUATION."""

    arg_types = {"this": True, "kind": True, "every": False, "on": False, "alias": False, "with_": False}  # noqa: RUF012
