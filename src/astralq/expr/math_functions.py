"""Functions of numbers, as Spark computes them; those of doubles may differ in the last digit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from astralq.datatypes import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, Type, Value
from astralq.errors import EvaluationError, TypeMismatchError
from astralq.expr.arithmetic import not_a_number, of_doubles
from astralq.expr.functions import ALIASES, TABLE, Signature, define, fixed
from astralq.expr.nodes import Expr

_one = fixed(DOUBLE, to=DOUBLE)


def _try(name: str) -> None:
    """try_…: NULL where the operator would fail."""
    function = TABLE[name]

    def prepare(args: tuple[Type, ...], result: Type) -> Callable[..., Value]:
        apply = function.prepare(args, result)

        def tried(*values: Value) -> Value:
            try:
                return apply(*values)
            except EvaluationError:
                return None

        return tried

    define(_TRIED[name], (2, 2), function.signature, prepare=prepare)


_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}
for _operator in _TRIED:
    _try(_operator)
ALIASES["mod"] = "%"
ALIASES["negative"] = "negate"


def _same(args: tuple[Expr, ...]) -> Signature:
    if not (args[0].type.is_numeric or args[0].type == NULL):
        raise TypeMismatchError(f"{args[0]} is {args[0].type}, not a number")
    return (args[0].type,), args[0].type


def _shift(args: tuple[Expr, ...]) -> Signature:
    if args[0].type.name not in ("INT", "BIGINT"):
        raise TypeMismatchError(f"{args[0]} is {args[0].type}, not INT or BIGINT")
    return (args[0].type, INT), args[0].type


def _shifted(how: str) -> Callable[[tuple[Type, ...], Type], Callable[..., Value]]:
    def prepare(_args: tuple[Type, ...], result: Type) -> Callable[..., Value]:
        bits = 32 if result == INT else 64
        size: int = 2**bits

        def apply(value: int, by: int) -> int:
            by = by % bits  # as Java's operators
            if how == ">>":
                return value >> by
            whole = value % 2**bits
            shifted: int = whole >> by if how == ">>>" else (whole << by) % 2**bits
            return shifted - size if shifted >= size // 2 else shifted

        return apply

    return prepare


def _bit_count(args: tuple[Expr, ...]) -> Signature:
    if not (args[0].type.is_integral or args[0].type == BOOLEAN):
        raise TypeMismatchError(f"{args[0]} is {args[0].type}, not a whole number")
    return (args[0].type,), INT


def _factorial(n: int) -> Value:
    return math.factorial(n) if 0 <= n <= 20 else None


def _rint(x: float) -> float:
    return math.copysign(round(x), x) if math.isfinite(x) else x


def _width_bucket(value: float, low: float, high: float, count: int) -> Value:
    if count <= 0 or count == 2**63 - 1 or low == high or not all(map(math.isfinite, (low, high))) or value != value:
        return None
    if low > high:
        value, low, high = -value, -low, -high
    if value < low:
        return 0
    return count + 1 if value >= high else int(count * (value - low) / (high - low)) + 1


def _hex(args: tuple[Expr, ...]) -> Signature:
    if args[0].type.name not in ("TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "BINARY"):
        raise TypeMismatchError(f"{args[0]} is {args[0].type}, not a whole number, text or BINARY")
    return (BIGINT if args[0].type.is_integral else args[0].type,), STRING


def _as_hex(value: Any) -> str:
    if isinstance(value, int):
        return f"{value % 2**64:X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


define("cbrt", (1, 1), _one, lambda a: math.copysign(math.cbrt(abs(a)), a))
define("e", (0, 0), lambda _: ((), DOUBLE), lambda: math.e)
define("expm1", (1, 1), _one, of_doubles(math.expm1, lambda _: math.inf))
define("log1p", (1, 1), _one, lambda a: None if a <= -1 else of_doubles(math.log1p, not_a_number)(a))
define("log2", (1, 1), _one, lambda a: None if a <= 0 else of_doubles(math.log2, not_a_number)(a))
define("hypot", (2, 2), fixed(DOUBLE, DOUBLE, to=DOUBLE), math.hypot)
define("sinh", (1, 1), _one, of_doubles(math.sinh, lambda a: math.copysign(math.inf, a)))
define("cosh", (1, 1), _one, of_doubles(math.cosh, lambda _: math.inf))
define("tanh", (1, 1), _one, math.tanh)
define("rint", (1, 1), _one, _rint)
define("factorial", (1, 1), fixed(INT, to=BIGINT), _factorial)
define("shiftleft", (2, 2), _shift, prepare=_shifted("<<"))
define("shiftright", (2, 2), _shift, prepare=_shifted(">>"))
define("shiftrightunsigned", (2, 2), _shift, prepare=_shifted(">>>"))
define("bit_count", (1, 1), _bit_count, lambda a: int(a) if isinstance(a, bool) else (a % 2**64).bit_count())
define("positive", (1, 1), _same, lambda a: a)
define("nullifzero", (1, 1), _same, lambda a: None if a == 0 else a)
define(
    "nanvl", (2, 2), fixed(DOUBLE, DOUBLE, to=DOUBLE), lambda a, b: b if a is not None and a != a else a, sees_null=True
)
define("width_bucket", (4, 4), fixed(DOUBLE, DOUBLE, DOUBLE, BIGINT, to=BIGINT), _width_bucket)
define("hex", (1, 1), _hex, _as_hex)
define("bin", (1, 1), fixed(BIGINT, to=STRING), lambda a: f"{a % 2**64:b}")
