"""What can be seen of a source without Spark: its files and their first rows, its options, its callable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from astralq.algebra.sources import Origin, RelationSource, SensedSource, StreamSource, Validity
from astralq.cli.words import counted
from astralq.errors import AstralError, DataError, nearest
from astralq.io.computed import Completion
from astralq.io.csv_text import CsvDialect, csv_records
from astralq.io.declared import (
    FOLLOWED,
    STORED,
    check_jdbc,
    check_visible,
    followed_origin,
    kafka_form,
    listed_by_spark,
    rate_misfits,
    stored_origin,
)
from astralq.io.exact import exact
from astralq.io.files import NoFileError, described, find_files, imported
from astralq.io.formats import Beginning, check_options, read_beginning
from astralq.io.options import PATTERNS, charset, check_option_names, may_lack_columns
from astralq.io.progress import unpacked
from astralq.io.reading import (
    HEADER_UNDECLARED,
    SEPARATED,
    SUFFIXES,
    File,
    MissingColumnError,
    missing,
    opened,
)
from astralq.io.times import decades_apart, two_digit_years, written_as
from astralq.model.sources import read_relation, receive
from astralq.schema import DATE, STRING, TIMESTAMP, Attribute, Schema
from astralq.timeline import Instant, duration

Source = StreamSource | RelationSource | SensedSource

_UNITS = ((11, "SECONDS"), (14, "MILLISECONDS"))
"""How many digits the times of this age have."""

ROWS = 200
"""How many rows of a file are looked at."""
FILES = 20
"""How many files of a source are looked into."""

_MAGIC = {
    b"\x1f\x8b": "it is compressed: give it a name that ends with .gz",
    b"PAR1": "it is a parquet file: declare it FROM parquet",
    b"PK\x03\x04": "it is a zip archive: unpack it, or pack it with gzip",
}


_DECLARED = {
    **{t: t.upper() for t in ("tinyint", "smallint", "int", "float", "double", "date", "binary")},
    **dict.fromkeys(("timestamp", "timestamp_ntz", "nanos"), "TIMESTAMP"),
    "bigint": "BIGINT",
    "boolean": "BOOLEAN",
}
"""What to declare a column of Spark's types."""


@dataclass
class Look:
    """What was found of a source in a few words, all that is wrong with it, or may be, and why `run` or `start` refuse
    it."""

    found: str = ""
    problems: list[AstralError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    run: list[AstralError] = field(default_factory=list)
    start: list[AstralError] = field(default_factory=list)


def look_at(source: Source, folder: Path) -> Look:
    """Looks at a source, whose relative paths and modules are looked for in a folder, then in the current one."""
    look = Look()
    try:
        _look(source, folder, look)
    except AstralError as e:
        look.problems.append(e)
    except OSError as e:
        look.problems.append(DataError(f"the {described(source)}: {e.filename} cannot be read: {e.strerror or e}"))
    except Exception as e:  # a library's own words about a file that is broken in a way nobody has thought of
        look.problems.append(DataError(f"the {described(source)} cannot be looked at: {type(e).__name__}: {e}"))
    if look.problems:
        look.found = ", ".join(filter(None, [look.found, counted(len(look.problems), "problem")]))
    return look


def are_set_aside(source: Source, problems: Sequence[AstralError]) -> bool:
    """Whether all that is wrong are values of single rows, which a continuous run sets aside with the reason."""
    text = source.origin is not None and source.origin.format in ("csv", "json")
    return text and is_followed(source) and all(_is_about_a_value(e) for e in problems)


def _is_about_a_value(error: AstralError) -> bool:
    return isinstance(error, DataError) and error.attribute is not None and not isinstance(error, MissingColumnError)


def is_followed(source: Source) -> bool:
    """Whether a continuous run follows a source, rather than reading it once."""
    return not isinstance(source, RelationSource) or source.validity is Validity.CHANGES


def _look(source: Source, folder: Path, look: Look) -> None:
    origin = source.origin
    known = ("python",) if isinstance(source, SensedSource) else tuple(dict.fromkeys((*STORED, *FOLLOWED)))
    if origin is None:
        raise DataError(
            f"the {described(source)} does not say where its rows are", hint="declare it with FROM csv 'path'"
        )
    if origin.format not in known:
        raise DataError(
            f"the {described(source)} is from {origin.format}, which cannot be read",
            hint=nearest(origin.format, known) or f"write FROM {', '.join(known)}",
        )
    look.problems += _options(origin, described(source))
    if not isinstance(source, SensedSource):
        look.warnings += two_digit_years(source)
        look.run += refusals(lambda: stored_origin(source))
        follow = followed_origin if is_followed(source) else stored_origin
        look.start += refusals(lambda: follow(source))
    match origin.format:
        case "python":
            imported(origin, folder)
            look.found = "can be imported, was not called"
        case "kafka":
            kafka_form(origin, described(source))
            look.found = "the topic was not looked at"
        case "rate":
            assert not isinstance(source, SensedSource)
            look.problems += rate_misfits(source)
            look.found = "made by Spark"
        case "jdbc":
            check_jdbc(origin, described(source))
            look.found = "the database was not looked at"
        case _:
            assert not isinstance(source, SensedSource)
            _files(source, _one_encoding(origin), folder, look)


def refusals(ask: Callable[[], object]) -> list[AstralError]:
    """What is refused where something is asked for, if anything is."""
    try:
        ask()
    except AstralError as e:
        return [e]
    return []


def _options(origin: Origin, source: str) -> Iterator[AstralError]:
    """All options that are misspelt, or not the durations that they should be."""
    for name, value in origin.options:
        if name.lower() in ("idle", "timeout"):
            yield from refusals(partial(duration, value))
        elif origin.format in (*SUFFIXES, "jdbc"):
            yield from refusals(partial(check_option_names, replace(origin, options=((name, value),)), source))


def _one_encoding(origin: Origin) -> Origin:
    """Spark has two names for this option, the model one."""
    return replace(origin, options=tuple(("encoding" if k.lower() == "charset" else k, v) for k, v in origin.options))


# Files


def _files(source: StreamSource | RelationSource, origin: Origin, folder: Path, look: Look) -> None:
    what = described(source)
    if "://" in origin.path.removeprefix("file://"):
        look.found = "not looked at: it is not on this machine"
        return
    if listed_by_spark(origin, folder) is not None:
        look.found = "not looked at: its folders are named by values (k=…), which only Spark reads"
        return
    try:
        files = find_files(origin, folder, what)
    except NoFileError as e:
        if not is_followed(source):
            raise
        look.found = "no file yet"
        look.run.append(e)
        return
    except DataError as e:
        if is_followed(source) and not Path(origin.path).suffix and e.hint is None:
            e.hint = "make the folder that its files will come to"
        raise
    look.found = counted(len(files), "file")
    check_visible(files, what)
    if not all(f.path.is_file() for f in files):
        look.found += ", not looked into: what is read from a pipe is gone"
        return
    if origin.format != "parquet":
        charset(origin)
    beyond = refusals(lambda: check_options(origin, what))
    if beyond and not look.problems:
        look.found += ", rows not looked at: the model does not know all options"
    if not beyond:  # a misspelt option may be the one that makes the rows fit
        _into(source, origin, files, look)


def _into(source: StreamSource | RelationSource, origin: Origin, files: Sequence[File], look: Look) -> None:
    """Looks into the files; of each attribute the first misfit is told, and of each file what else is wrong."""
    told: set[tuple[type[AstralError], str]] = set()
    names: dict[str, None] = {}
    stamps: list[Instant] = []
    rows, whole = 0, len(files) <= FILES
    for file in files[:FILES]:
        beginning, wrong = _beginning(origin, file, source.stored)
        if not wrong and beginning is not None:
            found, wrong = _stamps(source, file, beginning)
            stamps += found
        for e in wrong:
            attribute = getattr(e, "attribute", None)
            if attribute is None or (type(e), attribute) not in told:
                look.problems.append(e)
            told.add((type(e), attribute or ""))
        whole = whole and beginning is not None and not beginning.more
        if beginning is not None:
            rows += len(beginning.rows)
            names |= dict.fromkeys(beginning.names)
    unseen = [a.name for a in source.stored if names and a.name.lower() not in map(str.lower, names)]
    if whole and not may_lack_columns(origin):
        look.problems += [missing(name, names, origin.path) for name in unseen]
    if look.problems:
        return
    look.found += f", {_fit(rows, len(files), whole)}"
    look.warnings += filter(None, [decades_apart(stamps) if stamps else None])
    if unseen:
        look.found += f"; none of them has {', '.join(unseen)}"


def _fit(rows: int, files: int, whole: bool) -> str:
    if whole:
        return f"{counted(rows, 'row')} {'fits' if rows == 1 else 'fit'}" if rows else "no rows"
    if files > FILES:
        return f"the first {ROWS} rows of {FILES} of them fit"
    return f"{'its first' if files == 1 else 'the first'} {ROWS} rows{'' if files == 1 else ' of each'} fit"


def _stamps(
    source: StreamSource | RelationSource, file: File, beginning: Beginning
) -> tuple[list[Instant], list[AstralError]]:
    """The timestamps of the first rows, and what typed rows can lack: a computed attribute, a timestamp, a number of
    their batch, the sign of a change."""
    complete = Completion(source).row
    try:
        rows = [complete(values, where, file.path.name) for where, values in beginning.rows]
    except DataError as e:
        return [], [e]
    try:
        if isinstance(source, RelationSource):
            return read_relation(source, rows)[1], []
        if source.timestamp is not None:
            stream = receive(source, unpacked(source, rows) if source.has_heartbeats else rows)
            return [s.t for s in stream.tuples], []
    except DataError as e:
        return [], [DataError(f"{file.shown}: {e.message}", hint=e.hint)]
    return [], []


def _beginning(origin: Origin, file: File, schema: Schema) -> tuple[Beginning | None, list[AstralError]]:
    """The first rows, and all that is wrong with them: an attribute that does not fit is told, then passed over."""
    if origin.format == "parquet":
        return _parquet_beginning(origin, file, schema)
    if origin.format == "csv" and (error := _values_for_names(origin, file, schema)) is not None:
        return None, [error]
    wrong: list[AstralError] = []
    left = schema
    while True:
        try:
            return read_beginning(origin, file, left, ROWS), wrong
        except DataError as e:
            e.message = e.message.replace(f"({left})", f"({schema})")
            e.hint = (_magic(file) if e.attribute is None else None) or e.hint or _instead(origin, e, schema)
            wrong.append(e)
            left = _without(left, e)
            if e.attribute is None or not left.attributes or e.hint == HEADER_UNDECLARED:
                return None, wrong
            if e.hint is not None and e.hint.startswith(SEPARATED):
                return None, wrong


def _instead(origin: Origin, error: DataError, schema: Schema) -> str | None:
    """What to do about a value that does not fit."""
    if error.attribute is None or isinstance(error, MissingColumnError):
        return None
    if schema[error.attribute].type in (TIMESTAMP, DATE):
        option = PATTERNS[schema[error.attribute].type.name]
        written = re.search(r": '(.*)' in ", error.message)
        if origin.format != "parquet" and written and (patterns := written_as(written[1])):
            return " or ".join(f"OPTIONS ({option} = '{p}')" for p in patterns)
    if schema[error.attribute].type == TIMESTAMP:
        if number := re.search(r"'(\d+)' in ", error.message):
            unit = next((u for most, u in _UNITS if len(number[1]) <= most), "MICROSECONDS")
            return f"declare {error.attribute} BIGINT, and write TIMESTAMP BY {error.attribute} UNIT {unit}"
        return "write times as 2026-03-01T12:00:00Z"
    nothing = ", or name what stands for nothing: OPTIONS (nullValue = '…')" if origin.format == "csv" else ""
    return f"correct the file, or declare {error.attribute} STRING{nothing}"


def _without(schema: Schema, error: DataError) -> Schema:
    """The schema with one attribute less to complain about: as text it takes every value of a csv file."""
    if error.attribute is None:
        return schema
    about = schema[error.attribute]
    if isinstance(error, MissingColumnError) or about.type == STRING:
        return Schema(tuple(a for a in schema if a != about))
    return Schema(tuple(Attribute(a.name, STRING) if a == about else a for a in schema))


def _values_for_names(origin: Origin, file: File, schema: Schema) -> DataError | None:
    """A header that is declared but is not there: the first line holds values of the declared types."""
    dialect = CsvDialect.of(origin)
    if not dialect.header:
        return None
    try:
        with opened(file, dialect.encoding) as lines:
            first = next(csv_records(lines, dialect, file), None)
        if first is None or any(text is not None and text.strip() in schema for text in first[1]):
            return None
        for a, text in zip(schema, first[1], strict=True):
            exact(text, a.type)
    except (AstralError, ValueError):
        return None
    if all(a.type == STRING for a in schema):
        return None
    line = dialect.sep.join(text or "" for text in first[1])
    return DataError(
        f"{file.shown} has no header: its first line is {line[:60]!r}", hint="leave out OPTIONS (header = 'true')"
    )


def _magic(file: File) -> str | None:
    """What a file is that is not the text that it should be."""
    try:
        with file.path.open("rb") as f:
            begins = f.read(4)
    except OSError:
        return None
    if file.path.suffix == ".gz":
        return None
    return next((hint for magic, hint in _MAGIC.items() if begins.startswith(magic)), None)


def _parquet_beginning(origin: Origin, file: File, schema: Schema) -> tuple[Beginning | None, list[AstralError]]:
    """First the types of the columns, as Spark sees them, then the values in those that can be read."""
    from astralq.io.parquet import mismatch, parquet_types, takes

    wrong: list[AstralError] = []
    fine = []
    for a in schema:
        try:
            ((_, found),) = parquet_types(file, Schema((a,)), lacks=may_lack_columns(origin))
        except DataError as e:
            wrong.append(e)
            if e.attribute is None:
                return None, wrong
            continue
        if takes(a, found):
            fine.append(a)
        else:
            other = mismatch(found, a, file.shown)
            other.hint = other.hint or (f"declare it {_DECLARED[found]}" if found in _DECLARED else None)
            wrong.append(other)
    while fine:
        try:
            return read_beginning(origin, file, Schema(tuple(fine)), ROWS), wrong
        except DataError as e:
            wrong.append(e)
            fine = [a for a in fine if a.name != e.attribute]
            if e.attribute is None:
                break
    return None, wrong
