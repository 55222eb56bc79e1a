"""Digests: a short name for an operator, the same in every process, equal for operators that mean the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import Field, fields, is_dataclass
from datetime import time
from decimal import Decimal
from enum import Enum
from typing import Any

from astralq.errors import PlanError

LATER = {"later": True}
"""The metadata of a field that an earlier version did not have: where it has its default value, it does not count, so
that checkpoints of that version go on."""

NAME_IT = "name it: give the functions a text that says what they do, and change it when they change"

Unnamed = Callable[[Callable[..., object]], str]
"""What a function that nobody named is called."""


class UnnamedFunctionError(PlanError):
    """Something that has to be known again after a restart holds a function without a name."""


def digest_of(value: object, unnamed: Unnamed | None = None) -> str:
    """The digest of an operator, or of any other immutable value.

    Functions that are data count by value, those that somebody named by their name. One that nobody named has no
    digest, unless `unnamed` says what it is called as long as this process lasts.

    >>> from astralq import rows, stream
    >>> a, b = (stream("S", "v INT")[rows(n)].operator for n in (3, 4))
    >>> digest_of(a) == digest_of(stream("S", "v INT")[rows(3)].operator), digest_of(a) == digest_of(b)
    (True, False)
    """
    text = "\x1f".join(_parts(value, unnamed))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _parts(value: object, unnamed: Unnamed | None) -> Iterator[str]:
    """The value as a flat list of texts, from which it could be put together again."""
    if is_dataclass(value):
        yield f"({type(value).__name__}"
        for field in fields(value):
            held = getattr(value, field.name)
            if not field.compare or is_later(field, held):
                continue
            yield field.name
            if callable(held) and not is_dataclass(held):
                yield _name_of(value, field.name, held, unnamed)
            else:
                yield from _parts(held, unnamed)
        yield ")"
    elif isinstance(value, tuple):
        yield "["
        for one in value:
            yield from _parts(one, unnamed)
        yield "]"
    elif isinstance(value, Enum):
        yield f"{type(value).__name__}.{value.name}"
    elif value is None or isinstance(value, bool | str | bytes | float | Decimal | time):
        yield repr(value)
    elif isinstance(value, int):
        yield repr(int(value))  # whatever kind of integer: durations and instants, too
    else:
        raise AssertionError(f"{value!r} cannot be in an operator")


def is_later(field: Field[Any], value: object) -> bool:
    """Whether a field is one that an earlier version did not have, and has the value of that version."""
    return bool(field.metadata.get("later")) and value == field.default


def _name_of(owner: object, field: str, function: Callable[..., object], unnamed: Unnamed | None) -> str:
    text = getattr(owner, "text", "")
    if getattr(owner, "named", False):
        return f"named {text!r}"
    if unnamed is not None:
        return unnamed(function)
    raise UnnamedFunctionError(f"the function {field} of {text or type(owner).__name__} has no name", hint=NAME_IT)
