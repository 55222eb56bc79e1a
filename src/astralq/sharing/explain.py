"""What several queries share, in words: each shared part once, who uses it by which law, and why others do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from astralq.sharing.common import Note


def sharing_lines(notes: Sequence[Note]) -> list[str]:
    """For a person: each shared part with those who use it, then what is not shared."""
    lines: list[str] = []
    for part in dict.fromkeys(n.part for n in notes if n.shared):
        lines += part.splitlines()
        lines += [f"  {n.query}: {n.how}" for n in notes if n.shared and n.part == part]
    apart = dict.fromkeys(n for n in notes if not n.shared)
    lines += [f"not shared: {n.query}{_beside(n)}: {n.operator}: {n.how}" for n in apart]
    return lines


def _beside(note: Note) -> str:
    return f" with {', '.join(note.with_)}" if note.with_ else ""


def as_json(notes: Sequence[Note], query: str) -> list[dict[str, Any]]:
    """For a program: what one of the queries shares, and what it does not."""
    return [
        {"operator": n.operator, "shared": n.shared, "how": n.how, "with": list(n.with_), "part": n.part or None}
        for n in dict.fromkeys(notes)
        if n.query == query
    ]
