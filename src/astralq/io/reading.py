"""What readers of files share: values exactly of their declared types, text, and what is said of what does not fit."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from astralq.errors import DataError, EvaluationError, TimeError, nearest
from astralq.expr.casts import cast_value
from astralq.expr.datetime_patterns import parser_of
from astralq.io.exact import Number, exact
from astralq.io.options import PATTERNS
from astralq.schema import TIMESTAMP, Attribute, Value, Values, article

SUFFIXES = {"csv": (".csv",), "json": (".json", ".jsonl", ".ndjson"), "parquet": (".parquet",)}
"""Which files of a folder belong to a format; the texts also compressed, with .gz behind it."""

HEADER_UNDECLARED = "the first line holds the names: add OPTIONS (header = 'true')"
NUMBER_AS_TIME = "declare it BIGINT, and say what it counts with UNIT SECONDS or another unit"

Placed = tuple[str, Values]
"""A row, and where it stands."""


@dataclass(frozen=True)
class File:
    """A file, and what it is called in errors."""

    path: Path
    shown: str


NO_PATTERNS: Mapping[str, str] = {}


def typed(
    value: Any,
    attribute: Attribute,
    where: str,
    hint: str | None = None,
    patterns: Mapping[str, str] = NO_PATTERNS,
) -> Value:
    """The value exactly of the attribute's type, or an error that says where it is; text is read as a time or a date by
    the pattern of its type, if there is one."""
    pattern = patterns.get(attribute.type.name)
    try:
        if pattern is not None and isinstance(value, str):
            return cast_value(_by_pattern(value, pattern), TIMESTAMP, attribute.type)
        return exact(value, attribute.type)
    except (EvaluationError, TimeError):
        shown = str(value) if isinstance(value, Number) else repr(value)
        raise DataError(
            f"{where}: {shown} in {attribute.name!r} is not {article(attribute.type)} {attribute.type}",
            hint=hint or (None if pattern is None else f"{PATTERNS[attribute.type.name]} is {pattern!r}"),
            attribute=attribute.name,
        ) from None


def _by_pattern(text: str, pattern: str) -> Value:
    found = parser_of(pattern)(text)
    if found is None:
        raise EvaluationError(f"{text!r} is not written as {pattern!r}")
    return found


@contextmanager
def opened(file: File, encoding: str) -> Iterator[TextIO]:
    """The text of a file, unpacked if it is compressed; whatever cannot be read is an error with its name."""
    try:
        # A byte order mark is no part of the first value.
        encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    except LookupError:
        raise DataError(f"{file.shown}: unknown encoding {encoding!r}", hint="for example 'utf-8'") from None
    try:
        if file.path.suffix == ".gz":
            with gzip.open(file.path, "rt", encoding=encoding) as packed:
                yield packed
        else:
            with file.path.open(encoding=encoding) as plain:
                yield plain
    except (UnicodeError, LookupError) as e:
        where = f"{e.reason} at byte {e.start}" if isinstance(e, UnicodeDecodeError) else str(e)
        raise DataError(
            f"{file.shown} is not {encoding.removesuffix('-sig')} text: {where}",
            hint="name its encoding: OPTIONS (encoding = '…')",
        ) from None
    except (OSError, EOFError, zlib.error) as e:
        raise DataError(f"{file.shown} cannot be read: {getattr(e, 'strerror', None) or e}") from None


SEPARATED = "its columns are separated by"
"""How a hint begins that explains why none of the columns is there."""


class MissingColumnError(DataError):
    """An attribute that has no column."""


def missing(name: str, there: Iterable[str], where: str) -> MissingColumnError:
    """What to say of a column that is not there."""
    names = list(there)
    other = next((s for s in (";", "\t", "|") if len(names) == 1 and s in names[0]), None)
    return MissingColumnError(
        f"{where} has no column {name!r}: its columns are {', '.join(names)}",
        hint=nearest(name, names) if other is None else f"{SEPARATED} {other!r}: add OPTIONS (sep = {other!r})",
        attribute=name,
    )


def lacking(name: str, files: Sequence[str], of: int, there: Sequence[str]) -> MissingColumnError:
    """What to say of a column that some of several files do not have; `there` are the columns of the first."""
    shown = ", ".join(files[:MOST_NAMED]) + (f" and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else "")
    return MissingColumnError(
        f"{len(files)} of {of} files {'has' if len(files) == 1 else 'have'} no column {name!r}: {shown}; "
        f"the columns of {files[0]} are {', '.join(there)}",
        hint="add OPTIONS (missingColumns = 'null') to read NULL there",
        attribute=name,
    )


MOST_NAMED = 20
"""How many files an error names."""
