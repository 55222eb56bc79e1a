"""Functions of instants, in UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from astralq.errors import EvaluationError, TypeMismatchError
from astralq.expr.casts import cast_value
from astralq.expr.datetime_patterns import parser_of
from astralq.expr.functions import Signature, define, fixed
from astralq.expr.nodes import Expr
from astralq.schema import BIGINT, INT, NULL, STRING, TIMESTAMP, Value
from astralq.timeline import Instant, instant, to_datetime

_FIELDS: dict[str, Callable[[datetime], int]] = {
    "year": lambda d: d.year,
    "quarter": lambda d: (d.month + 2) // 3,
    "month": lambda d: d.month,
    "day dayofmonth": lambda d: d.day,
    "dayofweek": lambda d: d.isoweekday() % 7 + 1,  # Sunday is 1
    "weekday": lambda d: d.weekday(),  # Monday is 0
    "dayofyear": lambda d: d.timetuple().tm_yday,
    "hour": lambda d: d.hour,
    "minute": lambda d: d.minute,
    "second": lambda d: d.second,
}


def _field(f: Callable[[datetime], int]) -> Callable[[int], Value]:
    return lambda t: f(to_datetime(Instant(t)))


for _names, _f in _FIELDS.items():
    define(_names, (1, 1), fixed(TIMESTAMP, to=INT), _field(_f))

_TRUNCATED = {
    **dict.fromkeys(("year", "yyyy", "yy"), "month=1,day=1,hour=0,minute=0,second=0"),
    **dict.fromkeys(("month", "mon", "mm"), "day=1,hour=0,minute=0,second=0"),
    **dict.fromkeys(("day", "dd"), "hour=0,minute=0,second=0"),
    "hour": "minute=0,second=0",
    "minute": "second=0",
    "second": "",
}
_FLOORED = {"microsecond": 1, "millisecond": 1_000, "week": 7 * 86_400_000_000}
_FIRST_MONDAY = -3 * 86_400_000_000  # 1969-12-29


def _date_trunc(unit: str, t: int) -> Value:
    """The instant at which the unit that holds t began; an unknown unit gives NULL, as in Spark."""
    name = unit.lower()
    if name in _FLOORED:
        origin = _FIRST_MONDAY if name == "week" else 0
        return t - (t - origin) % _FLOORED[name]
    if name == "quarter":
        d = to_datetime(Instant(t))
        start = d.replace(month=(d.month - 1) // 3 * 3 + 1, day=1, hour=0, minute=0, second=0, microsecond=0)
        return instant(start)
    if name not in _TRUNCATED:
        return None
    fields = {k: int(v) for k, _, v in (p.partition("=") for p in _TRUNCATED[name].split(",") if p)}
    return instant(to_datetime(Instant(t)).replace(microsecond=0, **fields))  # type: ignore[arg-type]


def _from_epoch(unit: int) -> Callable[[int], Value]:
    def apply(n: int) -> Value:
        try:
            return instant(n * unit)
        except Exception:
            raise EvaluationError(f"{n} is out of range for TIMESTAMP") from None

    return apply


def _since_epoch(unit: int) -> Callable[[int], Value]:
    return lambda t: t // unit


define("date_trunc", (2, 2), fixed(STRING, TIMESTAMP, to=TIMESTAMP), _date_trunc)


def _to_timestamp(text: str, pattern: str | None = None) -> Value:
    """Text as CAST reads it, or as a pattern says."""
    if pattern is None:
        return cast_value(text, STRING, TIMESTAMP)
    found = parser_of(pattern)(text)
    if found is None:
        raise EvaluationError(f"{text!r} is not a time written as {pattern!r}")
    return found


def _try_to_timestamp(text: str, pattern: str | None = None) -> Value:
    try:
        return _to_timestamp(text, pattern)
    except EvaluationError:
        return None


define("to_timestamp", (1, 2), fixed(STRING, STRING, to=TIMESTAMP), _to_timestamp)
define("try_to_timestamp", (1, 2), fixed(STRING, STRING, to=TIMESTAMP), _try_to_timestamp)


def _seconds(args: tuple[Expr, ...]) -> Signature:
    if not (args[0].type.is_numeric or args[0].type == NULL):
        raise TypeMismatchError(f"{args[0]} is {args[0].type}, not a number of seconds")
    return (args[0].type,), TIMESTAMP


define("timestamp_seconds", (1, 1), _seconds, prepare=lambda args, to: lambda v: cast_value(v, args[0], to))
for _name, _unit in (("seconds", 1_000_000), ("millis", 1_000), ("micros", 1)):
    define(f"unix_{_name}", (1, 1), fixed(TIMESTAMP, to=BIGINT), _since_epoch(_unit))
    if _name != "seconds":
        define(f"timestamp_{_name}", (1, 1), fixed(BIGINT, to=TIMESTAMP), _from_epoch(_unit))
