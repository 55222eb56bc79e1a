"""Functions of text, as Spark computes them: 1-based places, code points, LIKE with a backslash escape."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable
from functools import lru_cache

from astralq.datatypes import BIGINT, BINARY, BOOLEAN, INT, NULL, STRING, Type, Value, array_of
from astralq.errors import EvaluationError, TypeMismatchError
from astralq.expr.functions import Signature, define, fixed
from astralq.expr.nodes import Expr
from astralq.expr.texts import to_text


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
define("length char_length character_length len", (1, 1), fixed(STRING, to=INT), len)
define("substring substr", (2, 3), fixed(STRING, INT, INT, to=STRING), _substring)
define("replace", (2, 3), fixed(STRING, STRING, STRING, to=STRING), lambda a, b, c="": a.replace(b, c) if b else a)
define("startswith", (2, 2), _two_to_boolean, lambda a, b: a.startswith(b))
define("endswith", (2, 2), _two_to_boolean, lambda a, b: a.endswith(b))
define("contains", (2, 2), _two_to_boolean, lambda a, b: b in a)
define("like", (2, 2), _two_to_boolean, _like)
define("ilike", (2, 2), _two_to_boolean, lambda a, b: _like(a.lower(), b.lower()))
define("rlike regexp_like", (2, 2), _two_to_boolean, _rlike)


_two = fixed(STRING, STRING, to=STRING)
_number = fixed(STRING, INT, to=STRING)


def _pad(text: str, length: int, pad: str, *, left: bool) -> str:
    if length <= len(text):
        return text[: max(length, 0)]
    filled = (pad * (length - len(text)))[: length - len(text)] if pad else ""
    return filled + text if left else text + filled


def _split_part(text: str, by: str, part: int) -> str:
    if part == 0:
        raise EvaluationError("the number of a part is 0", hint="parts are counted from 1, or from the end with -1")
    parts = text.split(by) if by else [text]
    place = part - 1 if part > 0 else len(parts) + part
    return parts[place] if 0 <= place < len(parts) else ""


def _substring_index(text: str, by: str, count: int) -> str:
    parts = text.split(by) if by else [""]
    if count == 0 or not by:
        return ""
    return by.join(parts[:count] if count > 0 else parts[count:])


def _locate(part: str, text: str, start: int = 1) -> int:
    if start < 1 or not part:
        return int(start >= 1)  # an empty text is found at once
    return text.find(part, start - 1) + 1


def _translate(text: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for k, c in enumerate(old):
        table.setdefault(ord(c), new[k] if k < len(new) else None)
    return text.translate(table)


def _initcap(text: str) -> str:
    return " ".join(word[:1].title() + word[1:].lower() for word in text.split(" "))


def _overlay(text: str, new: str, start: int, length: int = -1) -> str:
    taken = length if length >= 0 else len(new)
    return text[: max(start - 1, 0)] + new + text[max(start - 1 + taken, 0) :]


def _levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def _find_in_set(text: str, listed: str) -> int:
    parts = listed.split(",")
    return parts.index(text) + 1 if "," not in text and text in parts else 0


def _trimmed(strip: Callable[[str, str], str]) -> Callable[..., Value]:
    return lambda characters, text: strip(text, characters)


def _concat_ws(args: tuple[Expr, ...]) -> Signature:
    arrays = [a for a in args[1:] if a.type.name == "ARRAY"]
    if any(a.type.element != STRING for a in arrays):
        raise TypeMismatchError("the arrays are of STRING")
    types = tuple(a.type if a.type.name == "ARRAY" else STRING for a in args)
    return types, STRING


def _joined(by: str | None, *parts: Value) -> Value:
    if by is None:
        return None
    listed = [v for p in parts if p is not None for v in (p if isinstance(p, tuple) else (p,)) if v is not None]
    return by.join(map(str, listed))


def _digest(name: str) -> Callable[..., Value]:
    return lambda data: hashlib.new(name, data).hexdigest()


def _sha2(data: bytes, bits: int) -> Value:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return None if name is None else hashlib.new(name, data).hexdigest()


def _bytes(*further: Type, to: Type) -> Callable[[tuple[Expr, ...]], Signature]:
    """A signature whose first argument is BINARY, or text, of which its bytes count."""

    def signature(args: tuple[Expr, ...]) -> Signature:
        if args[0].type.name not in ("STRING", "BINARY", "NULL"):
            raise TypeMismatchError(f"{args[0]} is {args[0].type}, not BINARY", hint="CAST it to STRING")
        return (BINARY, *further)[: len(args)], to

    return signature


define("left", (2, 2), _number, lambda a, n: a[: max(n, 0)])
define("right", (2, 2), _number, lambda a, n: a[-n:] if n > 0 else "")
define("repeat", (2, 2), _number, lambda a, n: a * max(n, 0))
define("lpad", (2, 3), fixed(STRING, INT, STRING, to=STRING), lambda a, n, p=" ": _pad(a, n, p, left=True))
define("rpad", (2, 3), fixed(STRING, INT, STRING, to=STRING), lambda a, n, p=" ": _pad(a, n, p, left=False))
define("btrim", (1, 2), _two, lambda a, c=" ": a.strip(c))
define("ltrim", (1, 2), _two, lambda a, b=None: a.lstrip(" ") if b is None else _trimmed(str.lstrip)(a, b))
define("rtrim", (1, 2), _two, lambda a, b=None: a.rstrip(" ") if b is None else _trimmed(str.rstrip)(a, b))
define("split_part", (3, 3), fixed(STRING, STRING, INT, to=STRING), _split_part)
define("substring_index", (3, 3), fixed(STRING, STRING, INT, to=STRING), _substring_index)
define("instr", (2, 2), fixed(STRING, STRING, to=INT), lambda a, b: a.find(b) + 1)
define("locate position", (2, 3), fixed(STRING, STRING, INT, to=INT), _locate)
define("translate", (3, 3), fixed(STRING, STRING, STRING, to=STRING), _translate)
define("initcap", (1, 1), fixed(STRING, to=STRING), _initcap)
define("overlay", (3, 4), fixed(STRING, STRING, INT, INT, to=STRING), _overlay)
define("levenshtein", (2, 2), fixed(STRING, STRING, to=INT), _levenshtein)
define("find_in_set", (2, 2), fixed(STRING, STRING, to=INT), _find_in_set)
define("space", (1, 1), fixed(INT, to=STRING), lambda n: " " * max(n, 0))
define("ascii", (1, 1), fixed(STRING, to=INT), lambda a: ord(a[0]) if a else 0)
define("concat_ws", (1, None), _concat_ws, _joined, sees_null=True)
define("octet_length", (1, 1), _bytes(to=INT), len)
define("bit_length", (1, 1), _bytes(to=INT), lambda a: 8 * len(a))
define("md5", (1, 1), _bytes(to=STRING), _digest("md5"))
define("sha sha1", (1, 1), _bytes(to=STRING), _digest("sha1"))
define("sha2", (2, 2), _bytes(INT, to=STRING), _sha2)
define("crc32", (1, 1), _bytes(to=BIGINT), zlib.crc32)
define("base64", (1, 1), _bytes(to=STRING), lambda a: base64.b64encode(a).decode())


def _luhn(text: str) -> bool:
    if not (text.isascii() and text.isdigit()):
        return False
    digits = [int(c) for c in reversed(text)]
    return sum(d if k % 2 == 0 else sum(divmod(2 * d, 10)) for k, d in enumerate(digits)) % 10 == 0


def _array_join(array: tuple[Value, ...], by: str, null: str | None) -> str:
    return by.join(str(v) if v is not None else str(null) for v in array if v is not None or null is not None)


_joining = fixed(array_of(STRING), STRING, STRING, to=STRING)
define("luhn_check", (1, 1), fixed(STRING, to=BOOLEAN), _luhn)
define("array_join", (2, 3), _joining, lambda a, by, null=None: _array_join(a, by, null))
