"""Arithmetic and mathematical functions, with the types, overflows and roundings of Spark's ANSI mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

from astralq.datatypes import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    MONTHS,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    Value,
    decimal,
    fits,
    to_float32,
)
from astralq.errors import EvaluationError, TypeMismatchError
from astralq.expr.calendar import moments
from astralq.expr.casts import WIDE, as_decimal, common_type, to_scale
from astralq.expr.functions import Signature, define, fixed
from astralq.expr.nodes import Expr, Literal


def _decimal_of(e: Expr) -> Type:
    """The decimal type of an operand; an integer constant is as narrow as its digits, as in Spark."""
    if isinstance(e, Literal) and e.type.is_integral and e.value is not None:
        return decimal(max(1, len(str(abs(int(str(e.value)))))))
    return as_decimal(e.type)


def _bounded(precision: int, scale: int) -> Type:
    """Spark's adjustment of a result that needs more than 38 digits: keep the whole part, six decimals."""
    if precision <= 38:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(38, max(38 - whole, min(scale, 6)))


def _decimal_result(op: str, a: Type, b: Type) -> Type:
    p1, s1, p2, s2 = a.precision, a.scale, b.precision, b.scale
    match op:
        case "+" | "-":
            scale = max(s1, s2)
            return _bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return _bounded(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return _bounded(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    return _bounded(min(p1 - s1, p2 - s2) + scale, scale)


_TEMPORAL = {
    ("+", "TIMESTAMP", "INTERVAL"): TIMESTAMP,
    ("+", "INTERVAL", "TIMESTAMP"): TIMESTAMP,
    ("-", "TIMESTAMP", "INTERVAL"): TIMESTAMP,
    ("-", "TIMESTAMP", "TIMESTAMP"): INTERVAL,
    ("+", "INTERVAL", "INTERVAL"): INTERVAL,
    ("-", "INTERVAL", "INTERVAL"): INTERVAL,
    ("+", "MONTHS", "MONTHS"): MONTHS,
    ("-", "MONTHS", "MONTHS"): MONTHS,
    ("-", "DATE", "DATE"): INTERVAL,
    **{(op, t.name, "MONTHS"): t for op in "+-" for t in (DATE, TIMESTAMP)},
    **{("+", "MONTHS", t.name): t for t in (DATE, TIMESTAMP)},
    **{(op, "DATE", t): DATE for op in "+-" for t in ("TINYINT", "SMALLINT", "INT")},
    **{("+", t, "DATE"): DATE for t in ("TINYINT", "SMALLINT", "INT")},
}
"""What sums and differences with moments and lengths of time give."""
_DAY = 86_400_000_000


def _temporal(op: str, a: Expr, b: Expr) -> Signature | None:
    """The signatures with moments and lengths of time, or None where there is no such operand."""
    result = _TEMPORAL.get((op, a.type.name, b.type.name))
    if result is not None:
        return (a.type, b.type), result
    if op in "*/" and a.type in (INTERVAL, MONTHS) and b.type.is_numeric:
        return (a.type, b.type), a.type
    if op == "*" and b.type in (INTERVAL, MONTHS) and a.type.is_numeric:
        return (a.type, b.type), b.type
    sides = {a.type, b.type}
    if op in "+-" and sides == {DATE, INTERVAL} and b.type != DATE if op == "-" else sides == {DATE, INTERVAL}:
        # As in Spark a DATE stays one if whole days are added; here that is told by the constant.
        length = a if a.type == INTERVAL else b
        whole = isinstance(length, Literal) and isinstance(length.value, int) and length.value % _DAY == 0
        if whole:
            return (a.type, b.type), DATE
        return tuple(TIMESTAMP if t == DATE else t for t in (a.type, b.type)), TIMESTAMP
    if op == "-" and sides == {DATE, TIMESTAMP}:
        return (TIMESTAMP, TIMESTAMP), INTERVAL
    return None


def _binary(op: str) -> Callable[[tuple[Expr, ...]], Signature]:
    def signature(args: tuple[Expr, ...]) -> Signature:
        a, b = args
        moment = next((t for t in (TIMESTAMP, DATE) if t in (a.type, b.type)), None)
        if op == "-" and moment is not None and any(isinstance(e, Literal) and e.type == STRING for e in args):
            return (moment, moment), INTERVAL
        if (temporal := _temporal(op, a, b)) is not None:
            return temporal
        type_ = common_type(args, f"{a} {op} {b}")
        if type_ == NULL:
            type_ = DOUBLE if op == "/" else INT
        if not type_.is_numeric:
            shown = f"{a} is {a.type} and {b} is {b.type}"
            raise TypeMismatchError(
                f"in {a} {op} {b}: {shown}; {op} takes numbers",
                hint="CAST the text to a number" if "STRING" in shown else None,
            )
        if op == "div" and type_.is_fractional:
            raise TypeMismatchError(f"in {a} div {b}: div takes whole numbers and decimals", hint="use floor(x / y)")
        if op == "/" and (type_.is_integral or type_.is_fractional):
            type_ = DOUBLE
        if type_.name == "DECIMAL" and NULL not in (a.type, b.type):
            left, right = _decimal_of(a), _decimal_of(b)
            return (left, right), BIGINT if op == "div" else _decimal_result(op, left, right)
        return (type_, type_), BIGINT if op == "div" else type_

    return signature


def _overflow(value: int, type_: Type) -> int:
    if not fits(value, type_):
        raise EvaluationError(f"{value} is out of range for {type_}", hint="CAST an operand to a wider type")
    return value


def _nonzero(divisor: Any) -> None:
    if divisor == 0:
        raise EvaluationError("division by zero", hint="guard it: x / nullif(y, 0)")


def _truncated(a: int, b: int) -> int:
    """The quotient towards zero, as in Java."""
    q = abs(a) // abs(b)
    return q if (a >= 0) == (b >= 0) else -q


def _compute(op: str, a: Any, b: Any) -> Any:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
    _nonzero(b)
    if op == "div":
        return _truncated(a, b)
    if op == "/":
        return a / b
    if isinstance(a, float):
        return math.nan if math.isinf(a) else math.fmod(a, b)
    return a - b * _truncated(a, b)


# Spark divides decimals to 39 places, then rounds to the scale of the result.
_QUOTIENT = Decimal(1).scaleb(-39)


def _compute_decimal(op: str, a: Decimal, b: Decimal) -> Decimal:
    match op:
        case "+":
            return WIDE.add(a, b)
        case "-":
            return WIDE.subtract(a, b)
        case "*":
            return WIDE.multiply(a, b)
    _nonzero(b)
    if op == "/":
        return WIDE.divide(a, b).quantize(_QUOTIENT, context=WIDE)
    return WIDE.divide_int(a, b) if op == "div" else WIDE.remainder(a, b)


def _scaled(op: str, a: Any, b: Any) -> int:
    """A length of time multiplied or divided, rounded half up (away from zero) to whole microseconds."""
    if op == "/":
        _nonzero(b)
    exact = Fraction(a) * Fraction(b) if op == "*" else Fraction(a) / Fraction(b)
    rounded = math.floor(abs(exact) + Fraction(1, 2))
    return rounded if exact >= 0 else -rounded


def _arithmetic(op: str) -> Callable[[tuple[Type, ...], Type], Callable[..., Value]]:
    def prepare(args: tuple[Type, ...], result: Type) -> Callable[..., Value]:
        if args[0].name == "DECIMAL" and op == "div":
            return lambda a, b: _overflow(int(_compute_decimal("div", a, b)), result)
        if args[0].name == "DECIMAL":
            return lambda a, b: to_scale(_compute_decimal(op, a, b), result)
        if (INTERVAL in args or MONTHS in args) and op in "*/":
            return lambda a, b: _overflow(_scaled(op, a, b), result)
        if DATE in args or MONTHS in args:
            return moments(op, args, result)
        if result == DOUBLE:
            return lambda a, b: _compute(op, a, b)
        if result.is_fractional:
            return lambda a, b: to_float32(_compute(op, a, b))
        return lambda a, b: _overflow(_compute(op, a, b), result)

    return prepare


for _op in ("+", "-", "*", "/", "%", "div"):
    define(_op, (2, 2), _binary(_op), prepare=_arithmetic(_op))


def _pmod(args: tuple[Type, ...], result: Type) -> Callable[..., Value]:
    remainder = _arithmetic("%")(args, result)

    def apply(a: Any, b: Any) -> Any:
        r: Any = remainder(a, b)
        return r if r >= 0 or r != r else remainder(WIDE.add(r, b) if isinstance(r, Decimal) else r + b, b)

    return apply


define("pmod", (2, 2), _binary("%"), prepare=_pmod)


def _number(args: tuple[Expr, ...]) -> Signature:
    type_ = args[0].type
    if type_ == NULL:
        type_ = DOUBLE
    if not (type_.is_numeric or type_ in (INTERVAL, MONTHS)):
        raise TypeMismatchError(f"{args[0]} is {type_}, not a number")
    return (type_,), type_


def _checked(f: Callable[[Any], Any]) -> Callable[[tuple[Type, ...], Type], Callable[..., Value]]:
    def prepare(_args: tuple[Type, ...], result: Type) -> Callable[..., Value]:
        if result.is_integral or result in (INTERVAL, MONTHS):
            return lambda a: _overflow(f(a), result)
        return f

    return prepare


define("negate", (1, 1), _number, prepare=_checked(lambda a: a.copy_negate() if isinstance(a, Decimal) else -a))
define("abs", (1, 1), _number, prepare=_checked(lambda a: a.copy_abs() if isinstance(a, Decimal) else abs(a)))


def _whole(args: tuple[Expr, ...]) -> Signature:
    (type_,), _ = _number(args)
    if type_.name == "DECIMAL":
        return (type_,), _bounded(type_.precision - type_.scale + 1, 0)
    return (type_,), BIGINT


def _to_whole(f: Callable[[Any], int]) -> Callable[[tuple[Type, ...], Type], Callable[..., Value]]:
    def prepare(_args: tuple[Type, ...], result: Type) -> Callable[..., Value]:
        def apply(a: Any) -> Value:
            if isinstance(a, float) and not math.isfinite(a):
                if a != a:
                    return 0  # as in Spark
                raise EvaluationError(f"{a} is out of range for {result}")
            return Decimal(f(a)) if result.name == "DECIMAL" else _overflow(f(a), result)

        return apply

    return prepare


define("ceil ceiling", (1, 1), _whole, prepare=_to_whole(math.ceil))
define("floor", (1, 1), _whole, prepare=_to_whole(math.floor))


def _rounded(args: tuple[Expr, ...]) -> Signature:
    (type_,), _ = _number(args[:1])
    places = args[1] if len(args) > 1 else Literal(INT, 0)
    if not (isinstance(places, Literal) and isinstance(places.value, int)):
        raise TypeMismatchError(f"the number of places {places} is not an integer constant")
    result = type_
    if type_.name == "DECIMAL":
        scale = min(max(places.value, 0), type_.scale)
        whole = max(type_.precision - type_.scale, -places.value) + 1
        result = _bounded(whole + scale, scale)
    return (type_, INT)[: len(args)], result


# Every double has at most 309 digits before the point; more places than it has digits change nothing.
_ANY_DOUBLE = Context(prec=700, rounding=ROUND_HALF_UP)


def _round(_args: tuple[Type, ...], result: Type) -> Callable[..., Value]:
    def apply(value: Any, places: int = 0) -> Value:
        if isinstance(value, float):
            if not math.isfinite(value):
                return value
            exact = Decimal(repr(value))  # a FLOAT as the double that it is, as in Spark
            rounded = float(exact.quantize(Decimal(1).scaleb(-places), context=_ANY_DOUBLE))
            return to_float32(rounded) if result.name == "FLOAT" else rounded
        whole = Decimal(value).quantize(Decimal(1).scaleb(-places), context=WIDE)
        return to_scale(whole, result) if result.name == "DECIMAL" else _overflow(int(whole), result)

    return apply


define("round", (1, 2), _rounded, prepare=_round)


def of_doubles(f: Callable[..., float], outside: Callable[..., Value]) -> Callable[..., Value]:
    """A function of doubles; `outside` gives Spark's value where Python raises."""

    def apply(*values: float) -> Value:
        try:
            return f(*values)
        except (ValueError, OverflowError, ZeroDivisionError):
            return outside(*values)

    return apply


def not_a_number(*_: float) -> float:
    return math.nan


def _power(a: float, b: float) -> float:
    """Java's pow: unlike C's, 1 to the NaN and 1 to the infinity are NaN."""
    return math.nan if b != b or (abs(a) == 1 and math.isinf(b)) else math.pow(a, b)


def _power_outside(a: float, b: float) -> float:
    odd = b == math.trunc(b) and math.fmod(b, 2) != 0
    if a == 0 and b < 0:
        return math.copysign(math.inf, a) if odd else math.inf
    if a < 0 and b != math.trunc(b):
        return math.nan
    return -math.inf if a < 0 and odd else math.inf


def _log(a: float, b: float | None) -> Value:
    """log(x), or log(base, x)."""
    if a <= 0 or (b is not None and b <= 0):
        return None
    return math.log(a) if b is None else of_doubles(lambda: math.log(b) / math.log(a), not_a_number)()


def _bits(args: tuple[Expr, ...]) -> Signature:
    type_ = common_type(args, "the bits")
    if not (type_.is_integral or type_ == NULL):
        raise TypeMismatchError(f"{args[0]} is {args[0].type}, not a whole number")
    return (type_,) * len(args), type_


define("&", (2, 2), _bits, lambda a, b: a & b)
define("|", (2, 2), _bits, lambda a, b: a | b)
define("^", (2, 2), _bits, lambda a, b: a ^ b)
define("~", (1, 1), _bits, lambda a: ~a)

_one = fixed(DOUBLE, to=DOUBLE)
_two = fixed(DOUBLE, DOUBLE, to=DOUBLE)
define("sqrt", (1, 1), _one, of_doubles(math.sqrt, not_a_number))
define("exp", (1, 1), _one, of_doubles(math.exp, lambda _: math.inf))
# Spark gives NULL, not an error, for the logarithm of what is not positive.
define("ln", (1, 1), _one, lambda a: None if a <= 0 else of_doubles(math.log, not_a_number)(a))
define("log", (1, 2), _two, lambda a, b=None: _log(a, b))
define("log10", (1, 1), _one, lambda a: None if a <= 0 else of_doubles(math.log10, not_a_number)(a))
for _f in ("sin", "cos", "tan", "asin", "acos"):
    define(_f, (1, 1), _one, of_doubles(getattr(math, _f), not_a_number))
define("atan", (1, 1), _one, math.atan)
define("atan2", (2, 2), _two, lambda a, b: math.atan2(a + 0.0, b + 0.0))  # Spark has no negative zero here
define("radians", (1, 1), _one, lambda a: a * 0.017453292519943295)  # Java's constants
define("degrees", (1, 1), _one, lambda a: a * 57.29577951308232)
define("power pow", (2, 2), _two, of_doubles(_power, _power_outside))
define("sign signum", (1, 1), _one, lambda a: a if a != a or a == 0 else math.copysign(1.0, a))
define("pi", (0, 0), lambda _: ((), DOUBLE), lambda: math.pi)
define("isnan", (1, 1), fixed(DOUBLE, to=BOOLEAN), lambda a: a is not None and a != a, sees_null=True)
