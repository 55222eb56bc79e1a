"""The function of q14, which the public queries write in Java."""

from __future__ import annotations


def count_char(text: str | None, letter: str | None) -> int | None:
    """How often a letter is in a text."""
    return None if text is None or letter is None else text.count(letter)
