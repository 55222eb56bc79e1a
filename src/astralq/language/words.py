"""The words inside a window's brackets: numbers, quantities with units, quoted text, keywords."""

from __future__ import annotations

import re
from dataclasses import dataclass

from astralq.errors import Span, WindowError
from astralq.timeline import Instant, instant

_WORD = re.compile(
    r"--[^\n]*|\s+|(?P<number>\d+(?:\.\d+)?)|(?P<string>'[^']*'|\"[^\"]*\")|(?P<word>[^\W\d]\w*|`[^`]*`)|(?P<sign>.)"
)


@dataclass(frozen=True)
class Word:
    kind: str
    text: str
    start: int
    end: int


_BEHIND_SLIDE = {"DELAY", "BETWEEN", "ADVANCE"}


class WordReader:
    """Goes through the words of one pair of brackets; its errors have a place in the whole source."""

    def __init__(self, text: str, start: int, source: str) -> None:
        self.source = source
        self.words: list[Word] = []
        for m in _WORD.finditer(text):
            if m.lastgroup is not None:
                self.words.append(Word(m.lastgroup, m[0], start + m.start(), start + m.end()))
        self.end = start + len(text)
        self.at = 0

    # ---- words

    def span(self, first: int, last: int) -> Span:
        return Span.of(self.source, first, last)

    def fail(self, message: str, hint: str | None = None) -> WindowError:
        word = self.words[self.at] if self.at < len(self.words) else None
        first, last = (word.start, word.end) if word else (self.end, self.end + 1)
        return WindowError(message, hint=hint, span=self.span(first, last))

    def peek(self, *texts: str) -> bool:
        ahead = self.words[self.at : self.at + len(texts)]
        return len(ahead) == len(texts) and all(w.text.upper() == t for w, t in zip(ahead, texts, strict=True))

    def take(self, *texts: str) -> bool:
        if self.peek(*texts):
            self.at += len(texts)
            return True
        return False

    def expect(self, *texts: str, hint: str | None = None) -> None:
        if not self.take(*texts):
            raise self.fail(f"expected {' '.join(texts)} in the window", hint)

    def word(self, what: str) -> Word:
        if self.at >= len(self.words):
            raise self.fail(f"expected {what}")
        self.at += 1
        return self.words[self.at - 1]

    def number(self, what: str) -> int:
        word = self.words[self.at] if self.at < len(self.words) else None
        if word is None or word.kind != "number" or not word.text.isdigit():
            raise self.fail(f"expected {what}")
        self.at += 1
        return int(word.text)

    def amount(self, what: str = "a duration") -> str:
        """A number with a unit, or both in quotes, also behind INTERVAL: 10 MINUTES, '10 min', INTERVAL '10' MINUTE."""
        interval = self.take("INTERVAL")
        word = self.words[self.at] if self.at < len(self.words) else None
        if word is not None and word.kind == "string":
            self.at += 1
            text = word.text[1:-1]
            return f"{text} {self.word('a unit').text}" if interval and text.strip().isdigit() else text
        if word is None or word.kind != "number":
            raise self.fail(f"expected {what}, for example 10 MINUTES")
        self.at += 1
        unit = self.words[self.at] if self.at < len(self.words) else None
        if unit is None or unit.kind != "word":
            raise self.fail(f"expected a unit after {word.text}", "write for example 10 MINUTES, or 5 ROWS")
        self.at += 1
        return f"{word.text} {unit.text}"

    def attribute(self) -> Word:
        """The name of an attribute, with its qualifier if it has one: a, s.a."""
        first = self.word("an attribute")
        if first.kind != "word":
            self.at -= 1
            raise self.fail(f"expected an attribute, not {first.text}")
        if not self.take("."):
            return first
        name = self.word("an attribute")
        return Word("word", f"{first.text}.{name.text}", first.start, name.end)

    def slide(self) -> str | int:
        """A slide: a duration, a distance, or a number of rows."""
        word = self.words[self.at] if self.at < len(self.words) else None
        after = self.words[self.at + 1] if self.at + 1 < len(self.words) else None
        if (
            word is not None
            and word.kind == "number"
            and (after is None or after.kind != "word" or after.text.upper() in _BEHIND_SLIDE)
        ):
            return self.number("a number of rows")  # ROWS 5 SLIDE 2
        return rows_or_text(self.amount("a duration or a number of rows"))

    def moment(self) -> Instant:
        self.take("TIMESTAMP")
        word = self.word("a time in quotes")
        if word.kind != "string":
            self.at -= 1
            raise self.fail("expected a time in quotes", "write for example TIMESTAMP '2024-05-01T12:00:00Z'")
        return instant(word.text[1:-1])


def rows_or_text(amount: str) -> str | int:
    number, _, unit = amount.strip().partition(" ")
    return int(number) if unit.lower() in ("row", "rows") and number.isdigit() else amount
