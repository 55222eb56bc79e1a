"""The grammar of declarations: CREATE STREAM, RELATION, REGION, FUNCTION and VIEW, START AT, SET TICK, INSERT INTO."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from astralq.algebra.sources import UNITS, Origin
from astralq.errors import PlanError, Span, nearest
from astralq.expr.parse import ScalarSQL
from astralq.expr.unused import KEYWORDS as EXPRESSION_KEYWORDS
from astralq.expr.unused import PARTS as EXPRESSION_PARTS
from astralq.expr.unused import UNITS as UNITS_OF_TIME
from astralq.expr.unused import refuse_dropped_words, refuse_unused_parts
from astralq.language.syntax import (
    Bind,
    ColumnDef,
    FunctionDeclaration,
    Moment,
    Name,
    Parsed,
    ParsedStatement,
    QueryStatement,
    RegionDeclaration,
    RelationDeclaration,
    SetTick,
    StartAt,
    StreamDeclaration,
    ViewDeclaration,
)
from astralq.language.unused import KEYWORDS, PARTS, refuse_unused

_BEHIND_A_NAME = (
    *("", "UNIT", "FROM", "OPTIONS", "POSITION", "BATCH", "LOCATION", "LATENESS", "WITH", "HEARTBEAT"),
    *("SENSED", "EVERY", "TIMESTAMP"),
)
"""What can follow the attribute of TIMESTAMP BY; anything else is a part of an expression."""

FORMATS = ("csv", "json", "parquet", "kafka", "rate", "python", "jdbc")


class StatementParser(ScalarSQL.Parser):
    """Reads statements; the queries in them are read by the parser that extends it."""

    astral_dialect = "astral"

    def _query(self) -> exp.Expression:
        raise NotImplementedError

    def _whole_query(self) -> exp.Expression:
        """A query of which nothing is passed over."""
        first = self._index
        query = self._query()
        refuse_unused(query, self.sql)
        words = self._tokens[first : self._index]
        refuse_dropped_words(query, words, self.sql, PARTS, KEYWORDS, self.TYPE_TOKENS)
        return query

    # ---- words and places

    def _span(self, first: Token, last: Token) -> Span:
        return Span.of(self.sql, first.start, last.end + 1)

    def _name(self, what: str) -> Name:
        token = self._curr
        found = self._parse_id_var(any_token=False)
        if not isinstance(found, exp.Identifier):
            self.raise_error(f"expected {what}", token)
        return Name(found.this, self._span(token, self._prev))

    def _string(self, what: str) -> Name:
        token = self._curr
        if not self._match(TokenType.STRING):
            self.raise_error(f"expected {what} in quotes")
        return Name(token.text, self._span(token, token))

    def _expect(self, *words: str) -> None:
        if not self._match_text_seq(*words):
            self.raise_error(f"expected {' '.join(words)}")

    def _names(self, what: str) -> tuple[Name, ...]:
        return tuple(self._parse_csv(lambda: self._name(what)))

    def _positions(self) -> tuple[tuple[Name, ...], tuple[Name, ...]]:
        """The attributes of POSITION BY, and those of them that are DESC."""
        descending: list[Name] = []

        def one() -> Name:
            name = self._name("an attribute")
            if self._match_text_seq("DESC"):
                descending.append(name)
            else:
                self._match_text_seq("ASC")
            return name

        return tuple(self._parse_csv(one)), tuple(descending)

    def _wrapped_names(self, what: str) -> tuple[Name, ...]:
        return tuple(self._parse_wrapped_csv(lambda: self._name(what)))

    def _quantity(self, what: str = "a duration") -> Name:
        """A number with its unit, or both in quotes: 5 SECONDS, '5 seconds', INTERVAL '5' SECOND."""
        first = self._curr
        if self._match(TokenType.INTERVAL):
            return self._interval_quantity(first)
        if self._match(TokenType.STRING):
            return Name(first.text, self._span(first, first))
        if not self._match(TokenType.NUMBER):
            self.raise_error(f"expected {what}, for example 5 SECONDS")
        if self._curr and self._curr.start == first.start:
            # 5s and 5d come as casts of a number: three tokens in the same place.
            while self._curr and self._curr.start == first.start:
                self._advance()
            return Name(self.sql[first.start : first.end + 1], self._span(first, first))
        if not self._curr or self._curr.token_type in (TokenType.R_PAREN, TokenType.COMMA, TokenType.R_BRACKET):
            self.raise_error(f"expected a unit after {first.text}", first)
        self._advance()
        return Name(self._find_sql(first, self._prev), self._span(first, self._prev))

    def _interval_quantity(self, first: Token) -> Name:
        """What follows INTERVAL: '5' SECOND, 5 SECONDS, '5 seconds'."""
        number = self._curr
        if not (self._match(TokenType.STRING) or self._match(TokenType.NUMBER)):
            self.raise_error("expected a length of time after INTERVAL, for example INTERVAL '5' SECOND")
        text = number.text
        if self._curr and self._curr.text.upper() in UNITS_OF_TIME:
            text += f" {self._curr.text}"
            self._advance()
        return Name(text, self._span(first, self._prev))

    # ---- statements

    def _parse_statement(self) -> exp.Expression | None:
        if self._prev and self._prev.token_type in (TokenType.L_PAREN, TokenType.R_PAREN):
            return self._query()  # in WITH … AS (…), or behind it
        first = self._curr
        parsed = self._declaration()
        if parsed is None:
            parsed = QueryStatement(self._whole_query(), self._find_sql(first, self._prev))
        if isinstance(parsed, QueryStatement):
            parsed = replace(parsed, line=first.line)
        return ParsedStatement(value=parsed)

    def _declaration(self) -> Parsed | None:
        if self._match_text_seq("CREATE", "STREAM"):
            return self._create_stream(self._name("the stream's name"))
        if self._match_text_seq("CREATE", "RELATION"):
            return self._create_relation(self._name("the relation's name"))
        if self._match_text_seq("CREATE", "REGION"):
            name = self._name("the region's name")
            self._expect("AS")
            return RegionDeclaration(name, self._string("the region's WKT"))
        if self._match_text_seq("CREATE", "FUNCTION"):
            return self._create_function(aggregate=False)
        if self._match_text_seq("CREATE", "AGGREGATE", "FUNCTION"):
            return self._create_function(aggregate=True)
        if self._match_text_seq("CREATE", "VIEW"):
            name = self._name("the view's name")
            self._expect("AS")
            return ViewDeclaration(name, self._whole_query())
        if self._match_text_seq("CREATE"):
            self.raise_error("expected STREAM, RELATION, REGION, VIEW or FUNCTION")
        if self._match_text_seq("START", "AT"):
            self._expect("TIMESTAMP")
            return StartAt(self._string("a time"))
        if self._match_text_seq("BIND"):
            return self._bind()
        if self._match_text_seq("SET", "TICK"):
            return SetTick(self._quantity())
        if self._match_text_seq("INSERT", "INTO"):
            sink = self._with_options(self._origin())
            if self._match_text_seq("WITH", "PROGRESS"):
                sink = replace(sink, progress=True)
            first = self._curr
            query = self._whole_query()
            return QueryStatement(query, self._find_sql(first, self._prev), sink)
        if self._next is not None and self._next.token_type is TokenType.COLON:
            return self._sneeql_declaration()
        return None

    def _columns(self, separator: TokenType | None = None) -> tuple[ColumnDef, ...]:
        """(name TYPE, …), or SNEEql's (name:type, …)."""

        def column() -> ColumnDef:
            name = self._name("an attribute's name")
            if separator is not None and not self._match(separator):
                self.raise_error("expected : and a type")
            first = self._curr
            made = first is not None and first.text.upper() in ("AS", "GENERATED")
            type_ = None if made else self._type(f"the type of {name.text}", ")", "AS", "GENERATED")
            if self._match_text_seq("GENERATED"):  # as Spark and others say it
                self._expect("ALWAYS")
            if self._match(TokenType.ALIAS):
                return ColumnDef(name, type_, self._computed(name))
            if type_ is None:
                self.raise_error("expected AS and what it is computed by")
            return ColumnDef(name, type_)

        return tuple(self._parse_wrapped_csv(column))

    def _type(self, what: str, *ends: str) -> Name:
        """A type up to a comma or one of some ends; what is in parentheses belongs to it."""
        first, depth = self._curr, 0
        while self._curr and (depth or self._curr.text.upper() not in (",", *ends)):
            depth += sum(c in "(<" for c in self._curr.text) - sum(c in ")>" for c in self._curr.text)
            self._advance()
        if first is None or self._prev.end < first.start:
            self.raise_error(f"expected {what}")
        return Name(self._find_sql(first, self._prev), self._span(first, self._prev))

    def _create_function(self, *, aggregate: bool) -> FunctionDeclaration:
        name = self._name("the function's name")
        parameters = self._parse_wrapped_csv(self._parameter)
        self._expect("RETURNS")
        result = self._type("the type that it returns", "AS")
        self._expect("AS")
        form = self._name("python")
        if form.text.lower() != "python":
            hint = "write AS python 'module:callable'"
            raise PlanError(f"a function is computed by python, not by {form.text}", hint=hint, span=form.span)
        path = self._string("module:callable")
        deterministic = bool(self._match_text_seq("DETERMINISTIC"))
        return FunctionDeclaration(name, tuple(parameters), result, path, deterministic, aggregate)

    def _parameter(self) -> Name | None:
        """A type; none in ()."""
        return None if self._curr and self._curr.token_type is TokenType.R_PAREN else self._type("a type", ")")

    def _computed(self, name: Name) -> exp.Expression:
        """(expression), behind AS."""
        if not self._match(TokenType.L_PAREN):
            self.raise_error(f"expected ( and what {name.text} is computed by: {name.text} DOUBLE AS (a / 10)")
        computed = self._scalar(f"what {name.text} is computed by")
        self._match_r_paren()
        return computed

    def _scalar(self, what: str) -> exp.Expression:
        """An expression of one row, of which nothing is passed over."""
        first = self._index
        found = self._parse_disjunction()
        if found is None:
            self.raise_error(f"expected {what}")
        refuse_unused_parts(found, self.sql, EXPRESSION_PARTS, {})
        words = self._tokens[first : self._index]
        refuse_dropped_words(found, words, self.sql, EXPRESSION_PARTS, EXPRESSION_KEYWORDS, self.TYPE_TOKENS)
        return found  # type: ignore[no-any-return]

    def _moment(self) -> Moment:
        """What TIMESTAMP BY names: an attribute, or an expression of the row."""
        first = self._curr
        following = self._next.text.upper() if self._next else ""
        if following in _BEHIND_A_NAME:
            return Moment(self._name("the timestamp's attribute"), self._unit())
        computed = self._scalar("the timestamp's attribute, or an expression")
        text = Name(self._find_sql(first, self._prev), self._span(first, self._prev))
        return Moment(text, self._unit(), computed)

    def _origin(self) -> Origin:
        named = self._name("a format, for example csv")
        form = named.text.lower()
        if form not in FORMATS:
            meant = nearest(form, FORMATS)
            raise PlanError(
                f"unknown format {named.text!r}", hint=meant or f"the formats are {', '.join(FORMATS)}", span=named.span
            )
        if form == "rate" and not self._match(TokenType.STRING, advance=False):
            return Origin(form, "")
        return Origin(form, self._string("a path").text)

    def _with_options(self, origin: Origin) -> Origin:
        return Origin(origin.format, origin.path, self._options()) if self._match_text_seq("OPTIONS") else origin

    def _options(self) -> tuple[tuple[str, str], ...]:
        def option() -> tuple[str, str]:
            name = self._name("an option's name").text
            while self._match(TokenType.DOT):  # kafka.bootstrap.servers, as in Spark
                part = self._parse_id_var(any_token=True)
                if not isinstance(part, exp.Identifier):
                    self.raise_error("expected the rest of the option's name")
                name += f".{part.this}"
            if not self._match(TokenType.EQ):
                self.raise_error("expected = and a value in quotes")
            return name, self._string("the option's value").text

        return tuple(self._parse_wrapped_csv(option))

    def _unit(self) -> Name | None:
        if not self._match_text_seq("UNIT"):
            return None
        unit = self._name("SECONDS, MILLISECONDS or MICROSECONDS")
        if unit.text.upper() not in UNITS:
            raise PlanError(f"unknown unit {unit.text!r}", hint=f"the units are {', '.join(UNITS)}", span=unit.span)
        return unit

    def _create_stream(self, name: Name, columns: tuple[ColumnDef, ...] | None = None) -> StreamDeclaration:
        given: dict[str, Any] = {"name": name, "columns": self._columns() if columns is None else columns}
        while self._curr:
            if not (self._source_clause(given) or self._stream_clause(given)):
                self.raise_error(
                    "expected FROM, OPTIONS, TIMESTAMP, POSITION BY, BATCH, LOCATION BY, LATENESS or SENSED EVERY"
                )
        return StreamDeclaration(**given)

    def _source_clause(self, given: dict[str, Any]) -> bool:
        """FROM, OPTIONS and POSITION BY, of streams and relations."""
        if self._match_text_seq("FROM"):
            if given.get("origin") is not None:
                self.raise_error("it has a source already", self._prev)
            given["origin"] = self._origin()
        elif self._match_text_seq("OPTIONS"):
            if given.get("origin") is None:
                self.raise_error("expected FROM format 'path' before OPTIONS")
            given["origin"] = Origin(given["origin"].format, given["origin"].path, self._options())
        elif self._match_text_seq("POSITION", "BY"):
            given["position_by"], given["descending"] = self._positions()
        else:
            return False
        return True

    def _stream_clause(self, given: dict[str, Any]) -> bool:
        if self._match_text_seq("SENSED", "EVERY") or self._match_text_seq("EVERY"):
            given["every"] = self._quantity()
            self._expect("AT", "SITES")
            if self._next is not None and self._next.text.upper() in ("SELECT", "WITH"):
                self._match(TokenType.L_PAREN)
                given["designation"] = self._whole_query()
                self._match_r_paren()
            else:
                given["sites"] = tuple(self._parse_wrapped_csv(self._parse_primary))
        elif self._match_text_seq("TIMESTAMP", "ON", "ARRIVAL"):
            given["on_arrival"] = True
        elif self._match_text_seq("TIMESTAMP", "BY"):
            given["timestamp"] = self._moment()
        elif self._match_text_seq("BATCH", "BY"):
            given["batch_by"] = self._name("an attribute")
        elif self._match_text_seq("BATCH", "EACH", "ROW"):
            given["batch_each_row"] = True
        elif self._match_text_seq("LOCATION", "BY"):
            x_y = self._wrapped_names("an attribute")
            if len(x_y) != 2:
                self.raise_error("a location is two attributes: LOCATION BY (lon, lat)")
            given["location"] = x_y
            given["planar"] = bool(self._match_text_seq("PLANAR"))
        elif self._match_text_seq("LATENESS"):
            given["lateness"] = self._quantity()
        elif self._match_text_seq("WITH", "PROGRESS"):
            given["progress"] = True
        elif self._match_text_seq("HEARTBEAT", "BY"):
            given["heartbeat"] = self._name("a BOOLEAN attribute")
        else:
            return False
        return True

    def _create_relation(self, name: Name, columns: tuple[ColumnDef, ...] | None = None) -> RelationDeclaration:
        given: dict[str, Any] = {"name": name, "columns": self._columns() if columns is None else columns}
        while self._curr:
            if not (self._source_clause(given) or self._relation_clause(given)):
                self.raise_error("expected FROM, OPTIONS, VALID FROM, CHANGES BY, KEY or POSITION BY")
        return RelationDeclaration(**given)

    def _relation_clause(self, given: dict[str, Any]) -> bool:
        if self._match_text_seq("VALID", "FROM"):
            column = self._name("an attribute")
            if self._match_text_seq("TO"):
                given["valid_to"] = self._name("an attribute")
            given["valid_from"] = Moment(column, self._unit())
        elif self._match_text_seq("CHANGES", "BY"):
            given["change"] = self._name("the attribute with '+' or '-'")
            self._expect("AT")
            given["at"] = Moment(self._name("an attribute"), self._unit())
        elif self._match_text_seq("KEY"):
            given["key"] = self._wrapped_names("an attribute")
        else:
            return False
        return True

    def _bind(self) -> Bind:
        """BIND name TO format 'path', and what CREATE takes besides."""
        name = self._name("the name of a declared stream or relation")
        self._expect("TO")
        given: dict[str, Any] = {"origin": self._origin()}
        while self._curr:
            if not (self._source_clause(given) or self._stream_clause(given) or self._relation_clause(given)):
                self.raise_error("expected OPTIONS or another clause of CREATE STREAM or CREATE RELATION")
        return Bind(name, tuple(given.items()))

    def _sneeql_declaration(self) -> Parsed:
        """road: sensed (site:integer, …) and what CREATE takes besides."""
        name = self._name("a name")
        if self.astral_dialect != "sneeql":
            raise PlanError(
                f"{name.text}: … is SNEEql's way to declare",
                hint="use CREATE STREAM, or --dialect sneeql",
                span=name.span,
            )
        self._match(TokenType.COLON)
        if self._match_text_seq("STORED"):
            return self._create_relation(name, self._columns(TokenType.COLON))
        sensed = bool(self._match_text_seq("SENSED"))
        if not (sensed or self._match_text_seq("PUSHED")):
            self.raise_error("expected sensed, pushed or stored")
        return replace(self._create_stream(name, self._columns(TokenType.COLON)), sensed=sensed)
