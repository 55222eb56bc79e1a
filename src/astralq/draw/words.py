"""Words on a picture: values, titles and lists, as short as they can be and still be understood."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

from astralq.algebra.base import Operator
from astralq.draw.clock import Clock
from astralq.errors import PlanError
from astralq.language.printer import Printer, dialect_of
from astralq.model.values import Values
from astralq.printing.values import text
from astralq.schema import Attribute, Type, Value
from astralq.timeline import Instant

TITLE = 200
"""How many characters of a query's text stand above its lanes."""


def shortened(text: str, most: int = TITLE) -> str:
    """A text on one line, cut at a word if it is too long.

    >>> shortened("ISTREAM(\\n  SELECT a, b FROM s\\n)", 22)
    'ISTREAM(SELECT a, b …'
    """
    line = " ".join(text.split()).replace("( ", "(").replace(" )", ")")
    if len(line) <= most:
        return line
    cut = line[: most - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[most // 2 :] else cut).rstrip(" ,(") + " …"


def query_text(operator: Operator) -> str:
    """A query as it would be written; one that can only be built in Python, by its operators.

    >>> from astralq import rows, stream
    >>> query_text(stream("s", "v INT")[rows(3)].where("v > 1").istream().operator)
    'ISTREAM(SELECT * FROM s [ROWS 3] WHERE v > 1)'
    """
    try:
        return Printer(dialect_of(operator)).query(operator)
    except PlanError:
        return " ← ".join(op.label for op in operator.walk())


def value_text(value: Value, type_: Type, clock: Clock) -> str:
    """A value in a label: a DOUBLE with six digits at most, an instant as on the axis.

    >>> from astralq.datatypes import DOUBLE, TIMESTAMP
    >>> clock = Clock(Instant(0), Instant(9_000_000))
    >>> value_text(0.1 + 0.2, DOUBLE, clock), value_text(5_000_000, TIMESTAMP, clock)
    ('0.3', '5')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if type_.name == "TIMESTAMP" and isinstance(value, int):
        return clock.text(Instant(value))
    return shortened(text(value, type_, "iso"), 40)


def row_text(values: Values, attributes: Sequence[Attribute], clock: Clock, hidden: Iterable[str] = ()) -> str:
    """The values of a row, but for those of hidden attributes."""
    left_out = {h.lower() for h in hidden}
    shown = [
        value_text(v, a.type, clock) for v, a in zip(values, attributes, strict=True) if a.name.lower() not in left_out
    ]
    return ", ".join(shown)


def several(count: int, one: str, more: str | None = None) -> str:
    """A number with its noun.

    >>> several(1, "tuple"), several(1200, "tuple")
    ('1 tuple', '1,200 tuples')
    """
    return f"{count:,} {one if count == 1 else more or one + 's'}"
