"""Linear forms in a window's brackets, 2s*j + 3s, for [ALPHA … BETA …]; any arithmetic of t for [FOR …] and [AT …]."""

from __future__ import annotations

import re

from astralq.algebra.functions import Formula
from astralq.errors import WindowError
from astralq.language.words import WordReader
from astralq.timeline import duration

_QUOTED = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([^\W\d]*)\s*")
_KEYWORDS = {"BETA", "RATE", "END", "START", "ADVANCE", "TO", "FROM", "DELAY", "SLIDE"}


class LinearReader(WordReader):
    """Reads sums of terms n, n*j, j*n, j, each with a unit if it has one."""

    def linear(self, variable: str, stop: tuple[str, ...]) -> tuple[str, str]:
        """A sum of terms n, n*j, j*n, j with units: its factor of the variable and its constant, as amounts."""
        totals: dict[bool, list[tuple[int, str, str]]] = {True: [], False: []}
        first = True
        while self.at < len(self.words) and self.words[self.at].text.upper() not in stop:
            sign = self._sign(first)
            number, unit, has_variable = self._term(variable)
            totals[has_variable].append((sign, number, unit))
            first = False
        return _total(totals[True]), _total(totals[False])

    def _sign(self, first: bool) -> int:
        """The signs before a term, of which all but the first needs one."""
        if not (first or self.peek("+") or self.peek("-")):
            word = self.words[self.at].text
            raise self.fail(f"{word!r} cannot stand here", "terms are joined by + or -, for example 2s*j + 3s")
        sign = 1
        while self.peek("+") or self.peek("-"):
            sign = -sign if self.peek("-") else sign
            self.at += 1
        return sign

    def _term(self, variable: str) -> tuple[str, str, bool]:
        """n, n*j, j*n or j: its number and unit, and whether it has the variable; each at most once."""
        number: str | None = None
        unit, has_variable = "", False
        while True:
            word = self.word(f"a number or {variable}")
            again = (has_variable and word.text.lower() == variable) or (number is not None and word.kind != "word")
            if again:
                self.at -= 1
                raise self.fail(
                    f"a second {variable if has_variable and word.kind == 'word' else 'number'} in one product",
                    "bounds are linear, for example 2s*j + 3s",
                )
            if word.text.lower() == variable:
                has_variable = True
            elif word.kind == "number":
                number, unit = word.text, self._unit_of_term(variable)
            elif word.kind == "string" and (quoted := _QUOTED.fullmatch(word.text[1:-1])):
                number, unit = quoted[1], quoted[2]
            elif word.text.upper() == "INTERVAL":
                self.at -= 1
                number, _, unit = self.amount().partition(" ")
            else:
                self.at -= 1
                raise self.fail(f"expected a number or {variable}", "bounds are linear, for example 2s*j + 3s")
            if not self.take("*"):
                return number or "1", unit, has_variable

    def _unit_of_term(self, variable: str) -> str:
        """The unit behind a number, if there is one."""
        word = self.words[self.at] if self.at < len(self.words) else None
        if word is None or word.kind != "word" or word.text.lower() == variable or word.text.upper() in _KEYWORDS:
            return ""
        self.at += 1
        return word.text

    def formula(self, variable: str) -> Formula:
        """Any arithmetic of the variable, durations, times and whole numbers: t * 2, t + (t - TIMESTAMP '…') / 3."""
        return Formula(tuple(self._sum(variable)))

    def _sum(self, variable: str) -> list[str | int]:
        found = self._summand(variable)
        while self.peek("+") or self.peek("-"):
            sign = self.word("a sign").text
            found += [*self._summand(variable), sign]
        return found

    def _summand(self, variable: str) -> list[str | int]:
        first = self.at
        self._has_unit = False
        found = self._product(variable)
        if not self._has_unit and found != [0]:
            self.at = first
            raise self.fail(f"{self.words[first].text} has no unit", "write for example t - 5 SECONDS")
        return found

    _has_unit = False  # whether the product that is read has a time or a duration in it

    def _product(self, variable: str) -> list[str | int]:
        found = self._factor(variable)
        while self.peek("*") or self.peek("/") or self.peek("%"):
            sign = self.word("a sign").text
            found += [*self._factor(variable), sign]
        return found

    def _factor(self, variable: str) -> list[str | int]:
        if self.take("("):
            found = self._sum(variable)
            self.expect(")")
            return found
        if self.take("-"):
            return [0, *self._factor(variable), "-"]
        if self.take(variable.upper()):
            self._has_unit = True
            return [variable]
        word = self.words[self.at] if self.at < len(self.words) else None
        if self.peek("TIMESTAMP"):
            self._has_unit = True
            return [int(self.moment())]
        if word is not None and word.kind == "number" and word.text.isdigit():
            after = self.words[self.at + 1] if self.at + 1 < len(self.words) else None
            if after is None or after.kind != "word" or after.text.upper() in _KEYWORDS:
                self.at += 1
                return [int(word.text)]
        if word is None or not (word.kind in ("number", "string") or self.peek("INTERVAL")):
            raise self.fail(f"expected {variable}, a duration, a time or a number")
        self._has_unit = True
        return [int(duration(self.amount()))]

    def constant(self, stop: tuple[str, ...]) -> str:
        """A sum of terms without a variable."""
        begin = self.at
        factor, constant = self.linear("j", stop)
        if factor != "0":
            self.at = begin
            raise self.fail("a bound of START … END has no j", "what it moves by stands behind ADVANCE")
        return constant


def _total(terms: list[tuple[int, str, str]]) -> str:
    """The sum of terms of one unit, or of durations, as an amount; 0 if there is none."""
    if not terms:
        return "0"
    units = {u.lower() for _, _, u in terms}
    if units == {""}:
        if not all(n.isdigit() for _, n, _ in terms):
            raise WindowError("a bound without a unit is a whole number of rows", hint="write for example 2s*j + 3s")
        return str(sum(s * int(n) for s, n, _ in terms))
    if len(units) == 1:
        unit = terms[0][2]
        if all(n.isdigit() for _, n, _ in terms):
            return f"{sum(s * int(n) for s, n, _ in terms)} {unit}"
    total = sum(s * (duration(f"{n} {u}") if u else _plain(n)) for s, n, u in terms)
    return f"{total} us"


def _plain(number: str) -> int:
    if number != "0":
        raise WindowError(f"{number} has no unit", hint="write for example 3s, or 3 ROWS throughout")
    return 0
