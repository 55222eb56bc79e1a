"""Text whose values stand between separators: how a csv file is written, its records and its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from astralq.algebra.sources import Origin
from astralq.errors import DataError
from astralq.io.options import flag, may_lack_columns, patterns_of
from astralq.io.reading import HEADER_UNDECLARED, File, Placed, missing, opened, typed
from astralq.schema import Schema


@dataclass(frozen=True)
class CsvDialect:
    """How a csv file is written; the defaults are Spark's."""

    header: bool
    sep: str
    null: str
    quote: str
    escape: str
    comment: str
    encoding: str
    multi_line: bool
    trims: tuple[bool, bool] = (False, False)  # spaces before a value, and behind it
    empty: str = ""  # what "" is
    mode: str = "FAILFAST"
    line_sep: str | None = None
    patterns: Mapping[str, str] = field(default_factory=dict)  # how times and dates are written, by type
    lacks: bool = False  # whether a file may lack columns, whose values are NULL then

    @staticmethod
    def of(origin: Origin) -> CsvDialect:
        sep = origin.option("sep", origin.option("delimiter", ",")).replace("\\t", "\t")
        if not sep:
            raise DataError("the csv option 'sep' is empty", hint="give the text between two values, for example ';'")
        for name in ("quote", "escape", "comment"):
            if len(origin.option(name, "")) > 1:
                raise DataError(f"the csv option {name!r} is {origin.option(name, '')!r}", hint="give one character")
        mode = origin.option("mode", "FAILFAST").upper()
        if mode not in MODES:
            raise DataError(f"the csv option 'mode' is {mode!r}", hint=f"give one of {', '.join(MODES)}")
        return CsvDialect(
            flag(origin, "header"),
            sep,
            origin.option("nullValue", ""),
            origin.option("quote", '"'),
            origin.option("escape", "\\"),
            origin.option("comment", ""),
            origin.option("encoding", origin.option("charset", "utf-8")),
            flag(origin, "multiLine"),
            (flag(origin, "ignoreLeadingWhiteSpace"), flag(origin, "ignoreTrailingWhiteSpace")),
            origin.option("emptyValue", ""),
            mode,
            origin.option("lineSep", "") or None,
            patterns_of(origin),
            may_lack_columns(origin),
        )

    def trimmed(self, text: str) -> str | None:
        """A value that is not in quotes; None if there is nothing."""
        text = text.lstrip() if self.trims[0] else text
        return (text.rstrip() if self.trims[1] else text) or None


MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
"""What becomes of a line with more or fewer values than there should be: an error, NULLs, or it is left out."""


def read_csv(file: File, dialect: CsvDialect, schema: Schema) -> Iterator[Placed]:
    with opened(file, dialect.encoding) as lines:
        records = csv_records(lines, dialect, file)
        header = next(records, None) if dialect.header else None
        columns = csv_columns(header, schema, file, lacks=dialect.lacks) if dialect.header else None
        width = len(schema) if header is None else len(header[1])
        wanted: list[int | None] = list(range(len(schema))) if columns is None else columns
        last = max((c for c in wanted if c is not None), default=-1)
        for k, (line, fields) in enumerate(records, start=1):
            where = f"{file.shown}, row {k} (line {line})"
            hint = _header_hint(fields, schema) if k == 1 and columns is None else None
            if dialect.mode == "DROPMALFORMED" and len(fields) != width:
                continue
            if dialect.mode == "PERMISSIVE":
                fields += [None] * (width - len(fields))
            elif len(fields) <= last or (columns is None and len(fields) > len(schema)):
                raise DataError(f"{where} has {len(fields)} values, but {_needed(schema, columns)}", hint=hint)
            texts = (None if c is None else fields[c] for c in wanted)
            values = tuple(
                None if text is None or text == dialect.null else typed(text, a, where, hint, dialect.patterns)
                for a, text in zip(schema, texts, strict=True)
            )
            yield where, values


def _needed(schema: Schema, columns: Sequence[int | None] | None) -> str:
    if columns is None:
        return f"{len(schema)} attributes are declared ({schema})"
    place, name = max((c, n) for c, n in zip(columns, schema.names, strict=True) if c is not None)
    return f"{name!r} is column {place + 1} of the header"


def _header_hint(fields: list[str | None], schema: Schema) -> str | None:
    """A first row that holds the names is a header that was not declared."""
    found = sum(text is not None and text.strip() in schema for text in fields)
    return HEADER_UNDECLARED if 2 * found >= len(schema) else None


def csv_columns(
    header: tuple[int, list[str | None]] | None, schema: Schema, file: File, *, lacks: bool = False
) -> list[int | None]:
    """Where each attribute's column is, by its name in the header in any case; None where the file may lack it."""
    names = [] if header is None else [(text or "").strip() for text in header[1]]
    if not names:
        raise DataError(f"{file.shown} is empty: it has no header", hint="write the names of the columns first")
    lower = [n.lower() for n in names]
    for a in schema:
        if a.name.lower() not in lower and not lacks:
            raise missing(a.name, names, file.shown)
        if lower.count(a.name.lower()) > 1:
            raise DataError(f"{file.shown} has two columns {a.name!r}", hint="rename one of them", attribute=a.name)
    return [lower.index(a.name.lower()) if a.name.lower() in lower else None for a in schema]


def csv_records(lines: Iterable[str], dialect: CsvDialect, file: File) -> Iterator[tuple[int, list[str | None]]]:
    """The records with their lines' numbers; blank lines and comments are none."""
    numbered = enumerate(_lines(lines, dialect.line_sep), start=1)
    for number, text in numbered:
        if not text.strip() or (dialect.comment and text.startswith(dialect.comment)):
            continue
        if not dialect.quote or dialect.quote not in text:
            yield number, [dialect.trimmed(t) for t in text.split(dialect.sep)]
            continue
        while (fields := _split(text, dialect, f"{file.shown}, line {number}")) is None:
            further = next(numbered, None) if dialect.multi_line else None
            if further is None:
                raise DataError(
                    f"{file.shown}, line {number}: a quoted value has no end",
                    hint=None
                    if dialect.multi_line
                    else "if values go over several lines, OPTIONS (multiLine = 'true')",
                )
            text += "\n" + further[1]
        yield number, fields


def _lines(lines: Iterable[str], sep: str | None) -> Iterator[str]:
    if sep is None:
        return (text.rstrip("\n") for text in lines)
    return iter("".join(lines).removesuffix(sep).split(sep))


def _split(text: str, dialect: CsvDialect, where: str) -> list[str | None] | None:
    """The values of a record, None where there is nothing between two separators; None if a quote is still open."""
    fields: list[str | None] = []
    at = 0
    while True:
        begin = at
        while dialect.trims[0] and text[begin : begin + 1].isspace() and not text.startswith(dialect.sep, begin):
            begin += 1
        if text.startswith(dialect.quote, begin):
            at = begin
            quoted = _quoted(text, at + 1, dialect)
            if quoted is None:
                return None
            value, end = quoted
            after = text.find(dialect.sep, end)
            rest = text[end:] if after < 0 else text[end:after]
            if rest.strip():
                raise DataError(
                    f"{where}: {rest.strip()!r} follows a quoted value",
                    hint=f"if quotes in values are doubled, OPTIONS (escape = '{dialect.quote}')",
                )
            fields.append(value or dialect.empty)
        else:
            after = text.find(dialect.sep, at)
            fields.append(dialect.trimmed(text[at:] if after < 0 else text[at:after]))
        if after < 0:
            return fields
        at = after + len(dialect.sep)


def _quoted(text: str, at: int, dialect: CsvDialect) -> tuple[str, int] | None:
    """A quoted value and where it ends; the escape stands before a quote, and before itself."""
    value = []
    while at < len(text):
        c = text[at]
        following = text[at + 1 : at + 2]
        if c == dialect.escape and following and following in (dialect.quote, dialect.escape):
            value.append(following)
            at += 2
        elif c == dialect.quote:
            return "".join(value), at + 1
        else:
            value.append(c)
            at += 1
    return None
