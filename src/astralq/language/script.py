"""A file of statements: sources, views, regions and functions are declared, queries are bound to the algebra."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from astralq.algebra.base import Operator
from astralq.algebra.sources import Origin
from astralq.callables import PythonFunction
from astralq.errors import AstralError, PlanError, Span, nearest
from astralq.language.binder import QueryBinder
from astralq.language.declarations import amount, bound_to, function, region, relation_source, stream_source
from astralq.language.environment import Environment
from astralq.language.files import names_file
from astralq.language.from_clause import BrokenNameError
from astralq.language.grammar import parse
from astralq.language.syntax import (
    Bind,
    BrokenDeclaration,
    FunctionDeclaration,
    Name,
    Parsed,
    QueryStatement,
    RegionDeclaration,
    RelationDeclaration,
    SetTick,
    StartAt,
    StreamDeclaration,
    ViewDeclaration,
)
from astralq.space import Region
from astralq.timeline import Instant, instant

Given = Mapping[str, Operator | PythonFunction]
"""What a script can name without declaring it."""

DIALECTS = ("astral", "cql", "sneeql")


@dataclass(frozen=True)
class Statement:
    """A query of a script, bound: its number among the queries (1, 2, …), its start if START AT gave one, its text.

    `line` is where it stands in the script.
    """

    number: int
    operator: Operator
    t0: Instant | None
    text: str
    sink: Origin | None = None
    line: int = 1


@dataclass(frozen=True)
class Declared:
    """A source that a script declares, with the places of its name and of its attributes' in the text."""

    source: Operator
    name: Span
    attributes: tuple[Span, ...]


@dataclass(frozen=True)
class Script:
    """The queries of a file, in order, the sources that it declares, and its functions with the places of their
    callables' names."""

    queries: tuple[Statement, ...]
    sources: tuple[Declared, ...] = ()
    functions: tuple[tuple[PythonFunction, Span], ...] = ()


class ScriptError(AstralError):
    """All that is wrong with a script, in the order of the text; the sources are those that nothing is wrong with."""

    def __init__(self, errors: list[AstralError], sources: tuple[Declared, ...] = ()) -> None:
        super().__init__(errors[0].message, hint=errors[0].hint, span=errors[0].span)
        self.errors = errors
        self.sources = sources

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.errors))


class _Reader:
    """Goes through the statements; an error in one does not keep the others from being read."""

    def __init__(self, text: str, dialect: str, given: Given, binds: Sequence[Bind] = (), folder: str = "") -> None:
        functions = {name: one for name, one in given.items() if isinstance(one, PythonFunction)}
        self.env = Environment(text, dialect, known=dict(functions))
        self.folder = folder
        self.binds = {b.name.text.lower(): b for b in binds}
        for name, operator in given.items():
            if isinstance(operator, Operator):
                self.env = self.env.with_named(name, operator, is_view=False)
        self.declared: list[str] = []
        self.asked = 0
        self.only: int | None = None  # the number of the one query that is wanted
        self.file = False  # whether queries name the files of tuples
        self.queries: list[Statement] = []
        self.sources: list[Declared] = []
        self.functions: list[tuple[PythonFunction, Span]] = []

    def read(self, statement: Parsed) -> None:
        match statement:
            case StreamDeclaration() | RelationDeclaration():
                self._declare(statement.name, self._told(statement.name, lambda: self._source(statement)))
            case Bind():
                if statement.name.text.lower() not in self.declared:
                    raise PlanError(
                        f"{statement.name.text!r} is not declared",
                        hint=nearest(statement.name.text, self.declared) or "declare its attributes first",
                        span=statement.name.span,
                    )
            case BrokenDeclaration():
                self.env = self.env.with_named(statement.name, None)
            case RegionDeclaration() | FunctionDeclaration():
                if any(n.lower() == statement.name.text.lower() for n in self.env.known):
                    raise _twice(statement.name)
                self.env = replace(self.env, known={**self.env.known, statement.name.text: self._named(statement)})
            case ViewDeclaration():
                view = self._told(statement.name, lambda: QueryBinder(self.env).bind(statement.query))
                self._declare(statement.name, view, is_view=True)
            case StartAt():
                try:
                    self.env = replace(self.env, t0=instant(statement.moment.text))
                except AstralError as e:
                    raise e.at(statement.moment.span) from None
            case SetTick():
                if self.env.dialect != "cql":
                    raise PlanError(
                        "ticks belong to the cql dialect", hint="--dialect cql", span=statement.duration.span
                    )
                self.env = replace(self.env, tick=amount(statement.duration))
            case QueryStatement():
                self.asked += 1
                number = self.asked
                if self.only not in (None, number):
                    return
                operator = QueryBinder(self.env).bind(statement.query)
                self.queries.append(
                    Statement(number, operator, self.env.t0, statement.text, statement.sink, statement.line)
                )

    def _named(self, declared: RegionDeclaration | FunctionDeclaration) -> Region | PythonFunction:
        if isinstance(declared, RegionDeclaration):
            return region(declared)
        made = function(declared, self.folder)
        self.functions.append((made, declared.path.span))
        return made

    def _source(self, declared: StreamDeclaration | RelationDeclaration) -> Operator:
        dialect = self.env.dialect
        self.declared.append(declared.name.text.lower())
        bind = self.binds.get(declared.name.text.lower())
        declared = declared if bind is None else bound_to(declared, bind)
        functions = {n: f for n, f in self.env.known.items() if isinstance(f, PythonFunction)}
        try:
            source: Operator = (
                stream_source(declared, dialect, QueryBinder(self.env).bind, functions, file=self.file)
                if isinstance(declared, StreamDeclaration)
                else relation_source(declared, dialect, functions, file=self.file)
            )
        except AstralError as e:
            raise e.at(declared.name.span) from None
        self.sources.append(Declared(source, declared.name.span, tuple(c.name.span for c in declared.columns)))
        return source

    def _told(self, name: Name, bind: Callable[[], Operator]) -> Operator:
        """What is declared; if it is wrong, its name is known all the same, so that its uses are no further errors."""
        try:
            return bind()
        except AstralError:
            self.env = self.env.with_named(name.text, None)
            raise

    def _declare(self, name: Name, operator: Operator, *, is_view: bool = False) -> None:
        if name.text.lower() in self.env.named:
            raise _twice(name)
        self.env = self.env.with_named(name.text, operator, is_view=is_view)


def _twice(name: Name) -> PlanError:
    return PlanError(f"{name.text!r} is declared twice", hint="choose another name", span=name.span)


def _bound(texts: Sequence[str], dialect: str) -> tuple[list[Parsed], list[AstralError]]:
    """What is bound from outside of a script."""
    statements: list[Parsed] = []
    errors: list[AstralError] = []
    for text in texts:
        found, wrong = parse(f"BIND {text}", dialect)
        statements += found
        errors += wrong
    return statements, errors


def read_script(
    text: str,
    dialect: str = "astral",
    given: Given | None = None,
    bind: Sequence[str] = (),
    only: int | None = None,
    folder: Path | None = None,
) -> Script:
    """Reads and binds all statements of a text, or raises a ScriptError with all that is wrong.

    What is given can be named in the text as if it were declared there: sources, and Python functions. `bind` has
    sources of declared names, as `name TO csv 'path'`. With `only` one of the queries is bound, by its number. Modules
    of its functions are looked for in `folder` first.

    >>> script = read_script('''
    ...     CREATE STREAM s (v INT, ts TIMESTAMP) FROM csv 's.csv' TIMESTAMP BY ts;
    ...     ISTREAM(SELECT count(*) AS n FROM s [RANGE 1 MINUTE]);
    ... ''')
    >>> script.queries[0].operator
    ISTREAM
    └─ AGGREGATE count(*) AS n
       └─ WINDOW [RANGE 1 MINUTE]
          └─ STREAM s
    """
    if dialect not in DIALECTS:
        raise PlanError(
            f"unknown dialect {dialect!r}", hint=nearest(dialect, DIALECTS) or f"the dialects are {', '.join(DIALECTS)}"
        )
    statements, errors = parse(text, dialect)
    outside, wrong = _bound(bind, dialect)
    errors += wrong
    binds = [s for s in (*statements, *outside) if isinstance(s, Bind)]
    twice = {b.name.text.lower(): b for b in reversed(binds)}
    errors += [
        PlanError(f"{b.name.text!r} is bound twice", hint="leave one out", span=b.name.span)
        for b in binds
        if twice[b.name.text.lower()] is not b
    ]
    reader = _Reader(text, dialect, given or {}, binds, str((folder or Path()).resolve()))
    reader.only = only
    reader.file = any(names_file(s.query) for s in statements if isinstance(s, QueryStatement | ViewDeclaration))
    statements += outside
    for statement in statements:
        try:
            reader.read(statement)
        except BrokenNameError:
            pass
        except AstralError as e:
            errors.append(e)
        except RecursionError:
            errors.append(PlanError("the query is nested too deeply", hint="break it up with CREATE VIEW"))
    if errors:
        in_order = sorted(errors, key=lambda e: (e.span.line, e.span.column) if e.span else (0, 0))
        raise ScriptError(in_order, tuple(reader.sources))
    return Script(tuple(reader.queries), tuple(reader.sources), tuple(reader.functions))
