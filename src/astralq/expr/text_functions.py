"""Functions of text, as Spark computes them: 1-based places, code points, LIKE with a backslash escape."""

from __future__ import annotations

import re
from functools import lru_cache

from astralq.errors import EvaluationError, TypeMismatchError
from astralq.expr.functions import Signature, define, fixed
from astralq.expr.nodes import Expr
from astralq.expr.texts import to_text
from astralq.schema import BOOLEAN, INT, NULL, STRING, Type, Value


def _texts(args: tuple[Expr, ...]) -> Signature:
    """Anything that prints: the arguments of || and concat are brought to text."""
    for a in args:
        if a.type.name == "INTERVAL":
            raise TypeMismatchError(f"{a} is a length of time, which has no text of its own")
    return tuple(a.type for a in args), STRING


def _concat(args: tuple[Type, ...], _result: Type):  # type: ignore[no-untyped-def]
    return lambda *values: "".join(
        v if t in (STRING, NULL) else to_text(v, t) for v, t in zip(values, args, strict=True)
    )


def _substring(text: str, start: int, length: int = 2**31 - 1) -> str:
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[max(begin, 0) : max(begin + length, 0)]


@lru_cache(maxsize=256)
def _like_pattern(pattern: str) -> re.Pattern[str]:
    parts, k = [], 0
    while k < len(pattern):
        c = pattern[k]
        if c == "\\":
            k += 1
            if k == len(pattern) or pattern[k] not in "_%\\":
                raise EvaluationError(f"the pattern {pattern!r} ends or escapes wrongly", hint=r"write \\ for \ ")
            parts.append(re.escape(pattern[k]))
        else:
            parts.append({"%": ".*", "_": "."}.get(c, re.escape(c)))
        k += 1
    return re.compile("".join(parts), re.DOTALL)


def _like(text: str, pattern: str) -> Value:
    return _like_pattern(pattern).fullmatch(text) is not None


def _rlike(text: str, pattern: str) -> Value:
    """Whether the pattern is found anywhere; Python's regular expressions, which are Java's in all common forms."""
    try:
        return re.search(pattern, text) is not None
    except re.error as e:
        raise EvaluationError(f"the pattern {pattern!r} cannot be read: {e}") from None


_string = fixed(STRING, to=STRING)
_two_to_boolean = fixed(STRING, STRING, to=BOOLEAN)
define("||", (2, None), _texts, prepare=_concat)
define("concat", (1, None), _texts, prepare=_concat)
define("upper ucase", (1, 1), _string, lambda a: a.upper())
define("lower lcase", (1, 1), _string, lambda a: a.lower())
define("trim", (1, 1), _string, lambda a: a.strip(" "))
define("ltrim", (1, 1), _string, lambda a: a.lstrip(" "))
define("rtrim", (1, 1), _string, lambda a: a.rstrip(" "))
define("length char_length character_length len", (1, 1), fixed(STRING, to=INT), len)
define("substring substr", (2, 3), fixed(STRING, INT, INT, to=STRING), _substring)
define("replace", (2, 3), fixed(STRING, STRING, STRING, to=STRING), lambda a, b, c="": a.replace(b, c) if b else a)
define("startswith", (2, 2), _two_to_boolean, lambda a, b: a.startswith(b))
define("endswith", (2, 2), _two_to_boolean, lambda a, b: a.endswith(b))
define("contains", (2, 2), _two_to_boolean, lambda a, b: b in a)
define("like", (2, 2), _two_to_boolean, _like)
define("ilike", (2, 2), _two_to_boolean, lambda a, b: _like(a.lower(), b.lower()))
define("rlike regexp_like", (2, 2), _two_to_boolean, _rlike)
