"""Functions of instants, in UTC."""

from __future__ import annotations

import math
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal

from astralq.datatypes import (
    BIGINT,
    DATE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    Value,
    date_of,
    day_of,
    decimal,
)
from astralq.errors import EvaluationError, ExpressionError, TypeMismatchError
from astralq.expr.calendar import DAY, in_range, plus_months
from astralq.expr.casts import cast_value
from astralq.expr.datetime_patterns import parser_of
from astralq.expr.functions import Signature, call, define, fixed
from astralq.expr.nodes import Expr, Literal
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


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_date = fixed(DATE, to=INT)


def _last_day(days: int) -> int:
    day = date_of(days)
    return day_of(day.replace(day=monthrange(day.year, day.month)[1]))


_WEEKDAYS = {
    name: k
    for k, names in enumerate(
        ("mo mon monday", "tu tue tuesday", "we wed wednesday", "th thu thursday", "fr fri friday", "sa sat saturday")
    )
    for name in names.split()
} | dict.fromkeys(("su", "sun", "sunday"), 6)


def _next_day(days: int, name: str) -> Value:
    wanted = _WEEKDAYS.get(name.strip().lower())
    if wanted is None:
        raise EvaluationError(f"{name!r} is no day of the week", hint="write for example 'Mon'")
    return in_range(days + 1 + (wanted - 1 - date_of(days).weekday()) % 7)


def _make_date(year: int, month: int, day: int) -> Value:
    try:
        return day_of(date(year, month, day))
    except ValueError:
        raise EvaluationError(f"{year}-{month}-{day} is no date") from None


def _months_between(a: int, b: int, round_off: bool = True) -> float:
    first, second = to_datetime(Instant(a)), to_datetime(Instant(b))
    months = (first.year - second.year) * 12 + first.month - second.month
    both_last = all(d.day == monthrange(d.year, d.month)[1] for d in (first, second))
    if first.day == second.day or both_last:
        return float(months)
    seconds = (first.day - second.day) * 86_400 + (a % DAY) // 1_000_000 - (b % DAY) // 1_000_000
    exact = months + seconds / 2_678_400  # of 31 days
    return math.floor(exact * 1e8 + 0.5) / 1e8 if round_off else exact


def _trunc(days: int, unit: str) -> Value:
    day = date_of(days)
    match unit.lower():
        case "year" | "yyyy" | "yy":
            return day_of(day.replace(month=1, day=1))
        case "quarter":
            return day_of(day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1))
        case "month" | "mon" | "mm":
            return day_of(day.replace(day=1))
        case "week":
            return day_of(day - timedelta(days=day.weekday()))
    return None


def _moments(args: tuple[Expr, ...]) -> Signature:
    """A DATE of a DATE, a TIMESTAMP, or a text."""
    (types, _) = fixed(TIMESTAMP if args[0].type == TIMESTAMP else STRING, to=DATE)(args)
    return (DATE,) if args[0].type == DATE else types, DATE


def _to_date(args: tuple[Type, ...], _result: Type) -> Callable[..., Value]:
    return lambda v: cast_value(v, args[0], DATE)


def _make_interval(days: int = 0, hours: int = 0, minutes: int = 0) -> Value:
    return ((days * 24 + hours) * 60 + minutes) * 60_000_000


def _date_add(sign: int) -> Callable[..., Value]:
    return lambda days, n: in_range(days + sign * n)


define("date_add", (2, 2), fixed(DATE, INT, to=DATE), _date_add(1))
define("date_sub", (2, 2), fixed(DATE, INT, to=DATE), _date_add(-1))
define("datediff date_diff", (2, 2), fixed(DATE, DATE, to=INT), lambda a, b: a - b)
define("add_months", (2, 2), fixed(DATE, INT, to=DATE), plus_months)
define("last_day", (1, 1), fixed(DATE, to=DATE), _last_day)
define("next_day", (2, 2), fixed(DATE, STRING, to=DATE), _next_day)
define("make_date", (3, 3), fixed(INT, INT, INT, to=DATE), _make_date)
define("unix_date", (1, 1), _date, lambda d: d)
define("date_from_unix_date", (1, 1), fixed(INT, to=DATE), in_range)
define("trunc", (2, 2), fixed(DATE, STRING, to=DATE), _trunc)
define("to_date", (1, 1), _moments, prepare=_to_date)
define("weekofyear", (1, 1), fixed(DATE, to=INT), lambda d: date_of(d).isocalendar().week)
define("dayname", (1, 1), fixed(DATE, to=STRING), lambda d: _DAYS[date_of(d).weekday()])
define("monthname", (1, 1), fixed(DATE, to=STRING), lambda d: _MONTHS[date_of(d).month - 1])
define("make_dt_interval", (0, 3), fixed(INT, INT, INT, to=INTERVAL), _make_interval)
define("months_between", (2, 3), fixed(TIMESTAMP, TIMESTAMP, Type("BOOLEAN"), to=Type("DOUBLE")), _months_between)

_PARTS = {
    **dict.fromkeys(("YEAR", "Y", "YEARS", "YR", "YRS"), "year"),
    **dict.fromkeys(("QUARTER", "QTR"), "quarter"),
    **dict.fromkeys(("MONTH", "MON", "MONS", "MONTHS"), "month"),
    **dict.fromkeys(("WEEK", "W", "WEEKS"), "weekofyear"),
    **dict.fromkeys(("DAY", "D", "DAYS"), "day"),
    **dict.fromkeys(("DAYOFWEEK", "DOW"), "dayofweek"),
    **dict.fromkeys(("DOY",), "dayofyear"),
    **dict.fromkeys(("HOUR", "H", "HOURS", "HR", "HRS"), "hour"),
    **dict.fromkeys(("MINUTE", "M", "MIN", "MINS", "MINUTES"), "minute"),
}
_SECOND = ("SECOND", "S", "SEC", "SECONDS", "SECS")


def date_part(args: tuple[Expr, ...]) -> Expr:
    """EXTRACT(field FROM moment), and date_part('field', moment): the function of that field."""
    field = args[0].value if len(args) == 2 and isinstance(args[0], Literal) else None
    name = str(field).upper()
    if name in _PARTS and args[1].type.name not in ("INTERVAL", "MONTHS"):
        return call(_PARTS[name], args[1])
    if name in ("DAYOFWEEK_ISO", "DOW_ISO"):
        return call("+", call("weekday", args[1]), Literal(INT, 1))
    if name in _SECOND and args[1].type.name in ("TIMESTAMP", "DATE", "NULL"):
        return call("date_part", Literal(STRING, "SECOND"), args[1])
    known = ", ".join([*dict.fromkeys(_PARTS), "SECOND"])
    of = args[1].type if len(args) == 2 else "nothing"
    raise ExpressionError(f"{name} is no part of {of}", hint=f"the parts of a moment are {known}")


define(
    "date_part",
    (2, 2),
    fixed(STRING, TIMESTAMP, to=decimal(8, 6)),
    lambda _, t: Decimal(t % 60_000_000).scaleb(-6).quantize(Decimal("0.000001")),
)
