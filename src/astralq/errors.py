"""The one exception tree: every error says what is wrong, where, why and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A place in a text: 1-based line and column, the number of characters, and the text itself."""

    line: int
    column: int
    length: int
    source: str

    @staticmethod
    def of(source: str, start: int, end: int) -> Span:
        """The place of the characters in the half-open range [start, end) of a text; at least one is marked.

        >>> Span.of("SELECT a\\nFROM s", 14, 15).line
        2
        """
        before = source[:start]
        return Span(before.count("\n") + 1, start - before.rfind("\n"), max(1, end - start), source)

    def underlined(self) -> str:
        """The line with the place marked below it.

        >>> print(Span(1, 8, 4, "SELECT valu FROM s").underlined())
        1 | SELECT valu FROM s
          |        ^^^^
        """
        lines = self.source.splitlines() or [""]
        text = lines[min(self.line, len(lines)) - 1]
        number = str(self.line)
        marks = " " * (self.column - 1) + "^" * max(1, self.length)
        return f"{number} | {text}\n{' ' * len(number)} | {marks}"


class AstralError(Exception):
    """The root of all errors that astralq raises on purpose.

    >>> print(AstralError("the rate is 0", hint="give a rate of at least 1"))
    the rate is 0
      hint: give a rate of at least 1
    """

    def __init__(self, message: str, *, hint: str | None = None, span: Span | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.span = span

    def at(self, span: Span | None) -> AstralError:
        """The same error with a place in the source text, unless it already has one."""
        if self.span is None:
            self.span = span
        return self

    def __str__(self) -> str:
        parts = [self.message]
        if self.span is not None:
            parts[0] = f"line {self.span.line}, column {self.span.column}: {self.message}"
            parts.append(self.span.underlined())
        if self.hint is not None:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


class TimeError(AstralError):
    """An instant or a duration that is not exact, not readable or out of range."""


class SpaceError(AstralError):
    """A distance, location or region that cannot be used."""


class SchemaError(AstralError):
    """A schema that cannot be, or a name that is not in it."""


class ExpressionError(AstralError):
    """A scalar expression that cannot be read or has no meaning."""


class TypeMismatchError(ExpressionError):
    """An expression whose parts have types that do not go together."""


class PlanError(AstralError):
    """An operator that cannot be valid."""


class WindowError(PlanError):
    """A window whose schedule or scope cannot be valid."""


class DataError(AstralError):
    """A row, tuple or stream that does not fit its declaration; the attribute, if it is about one."""

    def __init__(
        self, message: str, *, hint: str | None = None, span: Span | None = None, attribute: str | None = None
    ) -> None:
        super().__init__(message, hint=hint, span=span)
        self.attribute = attribute


class EvaluationError(AstralError):
    """A value that cannot be computed: division by zero, overflow, a cast that fails (Spark's ANSI mode).

    `expr` is the expression that failed, if that is known.
    """

    def __init__(
        self, message: str, *, hint: str | None = None, span: Span | None = None, expr: object | None = None
    ) -> None:
        super().__init__(message if expr is None else f"{message}, in {expr}", hint=hint, span=span)
        self.reason = message
        self.expr = expr


class EngineError(EvaluationError):
    """Spark could not go on, whatever the query: a disk is full, a process is gone."""


def nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """A hint with the known name that is most like a wrong one, if any is.

    >>> nearest("sensr", ["id", "sensor"])
    "did you mean 'sensor'?"
    """
    by_lower = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=alike)
    return f"did you mean '{by_lower[close[0]]}'?" if close else None
