"""Days and months: sums of moments with lengths of time, and where months end."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import date

from astralq.datatypes import DATE, INTERVAL, MONTHS, Type, Value, date_of, day_of
from astralq.errors import EvaluationError

DAY = 86_400_000_000


def plus_months(days: int, months: int) -> int:
    """The same day some months later, or the last one of that month if it has fewer days.

    >>> date_of(plus_months(day_of(date(2024, 1, 31)), 1)).isoformat()
    '2024-02-29'
    """
    day = date_of(days)
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise EvaluationError(f"{day} and {months} months is out of range for DATE")
    return day_of(date(year, month + 1, min(day.day, monthrange(year, month + 1)[1])))


def in_range(days: int) -> int:
    """The days if they are a DATE, else an error."""
    try:
        date_of(days)
    except ValueError:
        raise EvaluationError(f"{days} days since 1970 is out of range for DATE") from None
    return days


def moments(op: str, args: tuple[Type, ...], result: Type) -> Callable[..., Value]:
    """The function that adds or takes off with a DATE or with months among the arguments."""
    sign = 1 if op == "+" else -1

    def apply(a: int, b: int) -> Value:
        if args[0] != result:  # the length of time stands first
            a, b = b, a
        length = args[0] if args[0] != result else args[1]
        if length == MONTHS and result == DATE:
            return plus_months(a, sign * b)
        if length == MONTHS:
            days, rest = divmod(a, DAY)
            return plus_months(days, sign * b) * DAY + rest
        return in_range(a + sign * (b // DAY if length == INTERVAL else b))

    if result == INTERVAL:  # DATE - DATE
        return lambda a, b: (a - b) * DAY
    if result == MONTHS:
        return lambda a, b: months_in_range(a + sign * b)
    return apply


def months_in_range(months: int) -> int:
    """The months if they are an INTERVAL YEAR TO MONTH, else an error."""
    if not -(2**31) <= months < 2**31:
        raise EvaluationError(f"{months} months is out of range for INTERVAL YEAR TO MONTH")
    return months
