"""The grammar of queries: sqlglot's Spark SQL, with windows after a table, streamers, spread and past states.

The inside of a window's brackets is kept as text here and read by language.windows.
"""

from __future__ import annotations

from typing import Any, cast

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from astralq.errors import AstralError, ExpressionError, Span
from astralq.expr.parse import ScalarSQL
from astralq.language.hints import hint_for
from astralq.language.quotes import parse_error, plain_quotes, unclosed
from astralq.language.statements import StatementParser
from astralq.language.syntax import (
    GENERATORS,
    STREAMERS,
    Bracket,
    BrokenDeclaration,
    DivideBy,
    Item,
    Name,
    Parsed,
    ParsedStatement,
    Past,
    Postfix,
    SpreadItem,
    StreamerQuery,
)

# Words that follow a FROM item and so are no alias of it.
_NOT_ALIAS = {"LOOKUP", "SINGLE", "WITHIN", "EVERY", "AT", "DELAYED", "BY", "DURING", "DIVIDE", "FOR"}


_CLAUSES = {"FROM", "OPTIONS", "TIMESTAMP", "POSITION", "BATCH", "LOCATION", "LATENESS", "SENSED", "EVERY", "VALID"} | {
    *("CHANGES", "KEY", "PLANAR", "WITH", "HEARTBEAT")
}
"""What may follow the attributes of a declaration."""

_SIDES = ("LEFT", "RIGHT", "FULL", "INNER")
_SET_OPERATIONS = {"UNION": exp.Union, "EXCEPT": exp.Except, "MINUS": exp.Except, "INTERSECT": exp.Intersect}


class AstralSQL(ScalarSQL):
    """The query language as a sqlglot dialect."""

    class Parser(StatementParser):
        # ---- queries

        def _query(self) -> exp.Expression:
            if self._match(TokenType.L_PAREN):
                found: Any = exp.Subquery(this=self._query())
                self._match_r_paren()
                if postfixes := self._postfixes():
                    return Item(this=found, postfixes=postfixes)
            else:
                found = self._parse_select()
            if found is None:
                self.raise_error("expected a query: SELECT, ISTREAM(…), DSTREAM(…), RSTREAM(…) or WITH")
            found = self._parse_query_modifiers(self._parse_set_operations(found))
            assert isinstance(found, exp.Expression)
            return found

        def parse_set_operation(self, this: Any, *args: Any, **kwargs: Any) -> Any:
            """UNION ALL IN ORDER; EXCEPT and INTERSECT BY IDENTITY, before their right side or behind it; DIVIDE BY."""
            if kwargs.get("intersect_only") or this is None:
                return super().parse_set_operation(this, *args, **kwargs)
            start = self._index
            if self._match_text_seq("DIVIDE", "BY"):
                return DivideBy(this=this, expression=self._right_side())
            kind = _SET_OPERATIONS.get(self._curr.text.upper()) if self._curr else None
            if kind is not None:
                self._advance()
                every = bool(self._match(TokenType.ALL))
                in_order = bool(self._match_text_seq("IN", "ORDER"))
                identity = bool(self._match_text_seq("BY", "IDENTITY"))
                if in_order or identity:
                    right = self._right_side()
                    return kind(this=this, expression=right, distinct=not every, in_order=in_order, identity=identity)
                self._retreat(start)
            found = super().parse_set_operation(this, *args, **kwargs)
            if found is not None and self._match_text_seq("BY", "IDENTITY"):
                found.set("identity", True)
            return found

        def _parse_limit(self, *args: Any, **kwargs: Any) -> Any:
            """LIMIT n, and of which groups: PER a, b."""
            found = super()._parse_limit(*args, **kwargs)
            if isinstance(found, exp.Limit) and self._match_text_seq("PER"):
                per = self._prev
                nothing = self._curr is None or self._curr.token_type is TokenType.OFFSET
                found.set("per", [] if nothing else self._parse_csv(self._parse_expression))
                if not found.args["per"]:
                    self.raise_error("expected what LIMIT counts by: PER a, b", per)
            return found

        def _can_parse_limit_or_offset(self) -> bool:
            """Behind an item LIMIT could be its alias, but not before a number: so what is wrong in it is told."""
            if self._next and self._next.token_type is TokenType.NUMBER:
                return bool(self._curr and self._curr.token_type in (TokenType.LIMIT, TokenType.OFFSET))
            return bool(super()._can_parse_limit_or_offset())

        def _right_side(self) -> exp.Expression:
            found = self._parse_select(nested=True, parse_set_operation=False)
            if found is None:
                self.raise_error("expected a query")
            return cast("exp.Expression", found)

        def _parse_table_alias(self, *args: Any, **kwargs: Any) -> Any:
            if self._curr and self._curr.text.upper() in _NOT_ALIAS:
                return None
            return super()._parse_table_alias(*args, **kwargs)

        def _parse_select_query(self, *args: Any, **kwargs: Any) -> exp.Expression | None:
            if self._curr and self._curr.text.upper() in STREAMERS and self._next.token_type is TokenType.L_PAREN:
                return self._streamer()
            return cast("exp.Expression | None", super()._parse_select_query(*args, **kwargs))

        def _parse_derived_table_values(self, *args: Any, **kwargs: Any) -> exp.Values | None:
            """VALUES (…), (…); an alias behind it is that of an item of FROM."""
            if not self._match(TokenType.VALUES):
                return None
            return exp.Values(expressions=self._parse_csv(self._value_row))

        def _value_row(self) -> exp.Tuple:
            several = bool(self._match(TokenType.L_PAREN))
            row = self._parse_csv(self._parse_disjunction) if several else [self._parse_disjunction()]
            if several:
                self._match_r_paren()
            if not row or None in row:
                self.raise_error("expected a row of constants: (1, 'a')")
            return exp.Tuple(expressions=row)

        def _values_to_select(self, values: exp.Values) -> Any:
            return values

        def _streamer(self) -> StreamerQuery:
            kind = self._curr.text.upper()
            self._advance(2)
            a_query = self._is_query_ahead() or self._curr.token_type is TokenType.L_PAREN
            inside = self._query() if a_query else self._parse_table(joins=False)
            self._match_r_paren()
            every = self._quantity() if self._match_text_seq("EVERY") else None
            on = next((w for w in ("INSERT", "EVALUATION") if every is None and self._match_text_seq("ON", w)), None)
            if self._curr and self._curr.token_type in (TokenType.ORDER_BY, TokenType.LIMIT):
                self.raise_error(f"{self._curr.text.upper()} orders and chooses from a relation: write it in {kind}(…)")
            return StreamerQuery(this=inside, kind=kind, every=every, on=on)

        def _is_query_ahead(self) -> bool:
            return self._curr.text.upper() in ("SELECT", "WITH", "VALUES", *STREAMERS)

        def _parse_expressions(self) -> list[exp.Expression]:
            """The items of SELECT, each with its text, which is its name if it has no other."""

            def item() -> exp.Expression | None:
                first = self._curr
                found = cast("exp.Expression | None", self._parse_expression())
                if found is None:
                    self.raise_error("expected an expression")
                assert found is not None
                found.meta["text"] = self._find_sql(first, self._prev)
                found.meta["start"], found.meta["end"] = first.start, self._prev.end
                return found

            found: list[exp.Expression] = self._parse_csv(item)
            return found

        # ---- FROM

        def _parse_table(self, *args: Any, joins: bool = False, alias_tokens: Any = None, **kwargs: Any) -> Any:
            if self._next.token_type is TokenType.EQ:  # 004: FROM R = Stream_car […]
                alias = self._name("a name")
                self._match(TokenType.EQ)
                named = self._item()
                named.set("alias", exp.TableAlias(this=exp.to_identifier(alias.text)))
                named.set("assigned", True)
                return named
            item = self._item()
            as_of = self._as_of()
            alias = self._parse_table_alias(alias_tokens=alias_tokens or self.TABLE_ALIAS_TOKENS)
            if alias is not None:
                item.set("alias", alias)
                if self._curr and self._curr.token_type is TokenType.L_BRACKET:
                    self.raise_error("the alias comes after the window")
            item.set("as_of", as_of or self._as_of())
            if joins:
                for join in self._parse_joins(alias_tokens=alias_tokens):
                    item.append("joins", join)
            return item

        def _item(self) -> Item:
            return Item(this=self._item_core(), postfixes=self._postfixes())

        def _item_core(self) -> exp.Expression:
            if self._curr and self._curr.text.upper() == "SPREAD" and self._ahead_is_spread():
                return self._spread()
            if self._curr and self._curr.text.upper() in STREAMERS and self._next.token_type is TokenType.L_PAREN:
                return self._streamer()
            if self._match(TokenType.L_PAREN):
                if self._is_query_ahead() or self._curr.token_type is TokenType.L_PAREN:
                    inside = self._query()
                else:
                    inside = self._parse_table(joins=True)
                self._match_r_paren()
                return exp.Subquery(this=inside)
            if self._curr and self._curr.token_type is TokenType.VALUES:
                return exp.Subquery(this=self._parse_derived_table_values())
            if self._is_generator_ahead():
                self._match_text_seq("LATERAL")
                return exp.Lateral(this=self._parse_function())
            token = self._curr
            name = self._parse_id_var(any_token=False)
            if name is None:
                self.raise_error("expected a stream, a relation, a view or a parenthesised query")
            table = exp.Table(this=name)
            name.meta.update(start=token.start, end=token.end, line=token.line)
            return table

        def _as_of(self) -> exp.Expression | None:
            """FOR SYSTEM_TIME AS OF s.ts, behind the right side of a join."""
            if not self._match_text_seq("FOR", "SYSTEM_TIME", "AS", "OF"):
                return None
            return cast("exp.Expression | None", self._parse_bitwise())

        def _is_generator_ahead(self) -> bool:
            """LATERAL explode(…), or explode(…)."""
            if self._curr is None or self._next is None:
                return False
            if self._curr.text.upper() == "LATERAL":
                return True
            return self._curr.text.lower() in GENERATORS and self._next.token_type is TokenType.L_PAREN

        def _ahead_is_spread(self) -> bool:
            after = self._next
            return after.token_type is TokenType.L_PAREN or after.text.upper() == "ALL"

        def _spread(self) -> SpreadItem:
            self._advance()
            everything = bool(self._match_text_seq("ALL"))
            if not self._match(TokenType.L_PAREN):
                self.raise_error("expected ( and a stream")
            inside = self._item()
            by = self._names("an attribute") if self._match_text_seq("BY") else ()
            self._match_r_paren()
            return SpreadItem(this=inside, all=everything, by=by)

        def _postfixes(self) -> list[Postfix]:
            found: list[Postfix] = []
            while True:
                if self._match(TokenType.L_BRACKET):
                    found.append(self._bracket())
                elif (past := self._past()) is not None:
                    found.append(past)
                else:
                    return found

        def _past(self) -> Past | None:
            if self._match_text_seq("AT", "START"):
                return Past()
            if self._match_text_seq("AT", "TIMESTAMP"):
                return Past(moment=self._string("a time"))
            if self._match_text_seq("DELAYED", "BY"):
                return Past(delay=self._quantity())
            if self._match_text_seq("AT", "LAST", "BATCH", "OF"):
                return Past(stream=self._item_core())
            if self._match_text_seq("DURING"):
                found = [self._interval()]
                while self._curr and self._curr.token_type is TokenType.COMMA and self._is_time_ahead():
                    self._advance()
                    found.append(self._interval())
                return Past(during=tuple(found))
            return None

        def _is_time_ahead(self) -> bool:
            """Whether another interval follows a comma, and not another item of FROM."""
            after = self._next
            return after is not None and (after.token_type is TokenType.STRING or after.text.upper() == "TIMESTAMP")

        def _interval(self) -> tuple[Name, Name | None]:
            """TIMESTAMP '…' [TO TIMESTAMP '…'], half-open."""
            self._match_text_seq("TIMESTAMP")
            start = self._string("a time")
            if not self._match_text_seq("TO"):
                return start, None
            self._match_text_seq("TIMESTAMP")
            return start, self._string("a time")

        def _bracket(self) -> Bracket:
            opened = self._prev
            depth = 1
            while self._curr and depth:
                depth += (self._curr.token_type is TokenType.L_BRACKET) - (self._curr.token_type is TokenType.R_BRACKET)
                self._advance()
            if depth:
                self.raise_error("expected ] at the end of the window", opened)
            closed = self._prev
            return Bracket(self.sql[opened.end + 1 : closed.start], opened.end + 1, self._span(opened, closed))

        # ---- groups

        def _parse_grouping_set(self) -> Any:
            if self._match_pair(TokenType.L_PAREN, TokenType.R_PAREN):
                return exp.Tuple(expressions=[])
            return super()._parse_grouping_set()

        # ---- joins and subqueries

        def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
            if self._match(TokenType.COMMA):
                return exp.Join(this=self._parse_table())
            if self._curr and self._next and self._next.text.upper() == "ASOF" and self._curr.text.upper() in _SIDES:
                return self._asof_join()
            lookup = (
                self._curr is not None and self._curr.text.upper() == "LOOKUP" and bool(self._match_text_seq("LOOKUP"))
            )
            side = self._curr.text.upper() if self._curr and self._next and self._next.text.upper() == "LOOKUP" else ""
            if side in ("LEFT", "INNER"):
                self._advance(2)
                lookup = True
            first = self._curr
            single = bool(self._match_text_seq("SINGLE"))
            join: exp.Join | None = super()._parse_join(*args, **kwargs)
            if single:
                if join is None or join.args.get("side") or join.args.get("kind") or join.args.get("method"):
                    self.raise_error("expected JOIN after SINGLE", first)
                assert join is not None
                join.set("side", "SINGLE")
            if join is not None and side:
                if join.args.get("side") or join.args.get("kind"):
                    self.raise_error(f"{side} stands before LOOKUP already", first)
                join.set("side" if side == "LEFT" else "kind", side)
            if join is None:
                if lookup:
                    self.raise_error("expected JOIN after LOOKUP")
                return None
            join.meta["start"], join.meta["end"] = first.start, first.end
            join.set("lookup", lookup)
            if self._match_text_seq("WITHIN"):
                unbounded = self._curr
                if self._match_text_seq("UNBOUNDED"):
                    join.set("within", Name("UNBOUNDED", self._span(unbounded, unbounded)))
                else:
                    join.set("within", self._quantity("a duration or a number of rows"))
            return join

        def _asof_join(self) -> exp.Join:
            """LEFT ASOF JOIN, which sqlglot reads as ASOF LEFT JOIN."""
            side = self._curr
            self._advance()
            join = self._parse_join()
            if join is None or join.args.get("side") or join.args.get("kind"):
                self.raise_error(f"expected JOIN after {side.text.upper()} ASOF", side)
            assert join is not None
            join.set("side" if side.text.upper() != "INNER" else "kind", side.text.upper())
            return join

        def _parse_function_call(self, *args: Any, **kwargs: Any) -> Any:
            found = super()._parse_function_call(*args, **kwargs)
            if isinstance(found, exp.Exists):
                found.set("past", self._pasts())
            return found

        def _pasts(self) -> list[Past]:
            found = []
            while (one := self._past()) is not None:
                found.append(one)
            return found

        def _parse_in(self, *args: Any, **kwargs: Any) -> exp.In:
            found: exp.In = super()._parse_in(*args, **kwargs)
            if len(found.expressions) == 1 and isinstance(found.expressions[0], exp.Values):
                found.set("query", exp.Subquery(this=found.expressions[0]))
                found.set("expressions", [])
            if found.args.get("query") is not None:
                found.set("past", self._pasts())
            return found


def _broken(chunk: list[Token]) -> list[Parsed]:
    """The name of a declaration that cannot be read, so that its uses are no further errors."""
    words = [t.text.upper() for t in chunk[:2]]
    if len(chunk) > 2 and words[0] == "CREATE" and words[1] in ("STREAM", "RELATION", "VIEW"):
        return [BrokenDeclaration(chunk[2].text)]
    return []


def _ends_extent(chunk: list[Token], token: Token) -> bool:
    """Whether 003's declarations end here, which it prints without semicolons: name: stored (…), and then something
    else than a clause."""
    if len(chunk) < 2 or chunk[1].token_type is not TokenType.COLON:
        return False
    depth = sum((t.token_type is TokenType.L_PAREN) - (t.token_type is TokenType.R_PAREN) for t in chunk)
    ended = depth == 0 and chunk[-1].token_type is TokenType.R_PAREN
    return ended and token.text.upper() not in _CLAUSES


def parse(text: str, dialect: str = "astral") -> tuple[list[Parsed], list[AstralError]]:
    """All statements of a text, and what is wrong with those that cannot be read."""
    text = plain_quotes(text)
    try:
        tokens = AstralSQL().tokenize(text)
    except TokenError:
        return [], [unclosed(text)]
    statements: list[Parsed] = []
    errors: list[AstralError] = []
    chunk: list[Token] = []
    depth = 0
    sneeql = dialect == "sneeql"
    for token in [*tokens, None]:
        if token is not None:
            depth += (token.token_type is TokenType.L_BRACKET) - (token.token_type is TokenType.R_BRACKET)
            if token.token_type is TokenType.SEMICOLON and depth > 0:
                token.token_type = TokenType.COLON  # in [FOR (…; …; …)], which is read as text
            if token.token_type is not TokenType.SEMICOLON and not (sneeql and _ends_extent(chunk, token)):
                chunk.append(token)
                continue
        depth = 0
        if chunk:
            try:
                parser: Any = AstralSQL().parser()
                parser.astral_dialect = dialect
                parsed = parser.parse(chunk, text)
                statements += [f.args["value"] for f in parsed if isinstance(f, ParsedStatement)]
            except ParseError as e:
                errors.append(parse_error(e, text, hint_for([t.text.upper() for t in chunk])))
                statements += _broken(chunk)
            except AstralError as e:
                errors.append(e)
                statements += _broken(chunk)
            except RecursionError:
                errors.append(ExpressionError("the statement is nested too deeply"))
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                # sqlglot's parser stumbles over some broken statements instead of saying what is wrong.
                span = Span.of(text, chunk[0].start, chunk[0].end + 1)
                errors.append(ExpressionError("this statement cannot be read", span=span))
        chunk = [token] if token is not None and token.token_type is not TokenType.SEMICOLON else []
    return statements, errors
