"""Python functions that the tests' queries call."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from astralq import function

HERE = "tests.callables"


def half(a: int | None) -> int | None:
    """A whole half; fails for 13."""
    if a == 13:
        raise ValueError("unlucky")
    return None if a is None else a // 2


def folded(xs: list[int | None]) -> int:
    """Depends on the order of a group's values, and on how many NULLs there are."""
    total = 0
    for x in xs:
        total = (3 * total + (1 if x is None else x)) % 1000
    return total


def shown(*values: Any) -> str:
    """The arguments as Python shows them."""
    return ", ".join(map(repr, values))


def later(t: datetime) -> datetime:
    return t.replace(year=t.year + 1)


def wrong(a: int) -> str:
    return "not a number"


HALF = function("half", f"{HERE}:half", "INT", parameters=["INT"], deterministic=True)
UNSURE = function("unsure", f"{HERE}:half", "INT", parameters=["INT"])
FOLDED = function("folded", f"{HERE}:folded", "INT", parameters=["INT"], aggregate=True)


def same(value: Any) -> Any:
    return value
