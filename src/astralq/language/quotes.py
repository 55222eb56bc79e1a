"""Texts that cannot be read: where sqlglot stopped, quotes that are not closed, and those that papers print."""

from __future__ import annotations

import re

from sqlglot.errors import ParseError

from astralq.errors import AstralError, ExpressionError, Span


def parse_error(e: ParseError, text: str, hint: str | None) -> AstralError:
    for found in e.errors:
        length = max(1, len(found.get("highlight") or "x"))
        line, column = found.get("line") or 1, found.get("col") or 1
        # sqlglot counts the column of a token's last character.
        span = Span(line, max(1, column - length + 1), length, text)
        description = str(found.get("description") or "cannot read this")
        description = "this cannot stand here" if description.startswith("Invalid expression") else description
        description = "expected SELECT after WITH" if description.startswith("parsedstatement") else description
        if description.startswith("Required keyword"):
            description = "something is missing here"
        if description.startswith(("Expecting ", "Expected ")):
            description = f"expected {description.split(' ', 1)[1]}"
        return ExpressionError(description, hint=hint, span=span)
    return ExpressionError("cannot read the query", hint=hint)


_OPENED = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|(?P<open>/\*|['\"`])", re.DOTALL
)


_QUOTED = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`"
    r"|(?P<single>[‘’‚‛][^‘’'\n]*[‘’])|(?P<double>[“”„‟][^“”\"\n]*[“”])",
    re.DOTALL,
)


def plain_quotes(text: str) -> str:
    """Typographic quotes, as papers print them, as plain ones: ‘60 minutes’, ’50 km’, “o1”; in plain quotes they stay.

    >>> plain_quotes("R.ID = ‘o1’ AND note = 'it’s'")
    "R.ID = 'o1' AND note = 'it’s'"
    """

    def plain(found: re.Match[str]) -> str:
        quote = {"single": "'", "double": '"'}.get(found.lastgroup or "")
        return found[0] if quote is None else f"{quote}{found[0][1:-1]}{quote}"

    return _QUOTED.sub(plain, text)


def unclosed(text: str) -> AstralError:
    """A text that cannot be cut into words: where the quote or comment begins that is not closed."""
    opened = next((m for m in _OPENED.finditer(text) if m["open"]), None)
    if opened is None:
        return ExpressionError("the text cannot be cut into words")
    span = Span.of(text, *opened.span())
    what = "comment" if opened[0] == "/*" else "quote"
    return ExpressionError(
        f"this {what} is not closed", hint=f"add {'*/' if what == 'comment' else opened[0]}", span=span
    )
