"""From a query to its data: finds and reads the files, or imports the callables, that its sources name."""

from __future__ import annotations

import functools
import glob
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from astralq.algebra.base import Operator
from astralq.algebra.sources import Origin, RelationSource, SensedSource, Sensor, StreamSource
from astralq.callables import find_callable, importable, what_failed
from astralq.errors import AstralError, DataError, nearest
from astralq.io.computed import Completion
from astralq.io.formats import NamedRows, check_options, read_files
from astralq.io.options import LISTING, flag
from astralq.io.progress import WithHeartbeats, unpacked
from astralq.io.reading import SUFFIXES, File, typed
from astralq.schema import Schema, Values
from astralq.timeline import Instant, instant

_ENGINE_ONLY = ("kafka", "rate", "jdbc")


def read_sources(query: Operator, folder: Path) -> dict[str, Any]:
    """For each source of a query its rows, typed and in the declared order, or a sensed stream's callable.

    Relative paths and modules are looked for in the folder, which is the query file's, then in the current one.
    """
    data: dict[str, Any] = {}
    for op in query.walk():
        if isinstance(op, StreamSource | RelationSource) and op.name not in data:
            data[op.name] = _rows(op, folder)
        elif isinstance(op, SensedSource) and op.name not in data:
            data[op.name] = read_sensor(op, folder)
            if op.designation is not None:
                data |= read_sources(op.designation.relation, folder)
    return data


def described(source: StreamSource | RelationSource | SensedSource) -> str:
    """What errors call a source."""
    return f"{'relation' if isinstance(source, RelationSource) else 'stream'} {source.name}"


def _origin(source: StreamSource | RelationSource | SensedSource) -> Origin:
    if source.origin is None:
        raise DataError(
            f"the {described(source)} does not say where its rows are", hint="declare it with FROM csv 'path'"
        )
    known = ("python",) if isinstance(source, SensedSource) else (*SUFFIXES, "python")
    if source.origin.format not in known:
        engine = source.origin.format in _ENGINE_ONLY and not isinstance(source, SensedSource)
        raise DataError(
            f"the {described(source)} is from {source.origin.format}, which "
            + ("needs the Spark engine" if engine else "cannot be read"),
            hint=f"the model reads {', '.join(known)}" if engine else nearest(source.origin.format, known),
        )
    return source.origin


def _rows(source: StreamSource | RelationSource, folder: Path) -> list[Values] | WithHeartbeats:
    rows = _physical_rows(source, folder)
    return unpacked(source, rows) if isinstance(source, StreamSource) and source.has_heartbeats else rows


def _physical_rows(source: StreamSource | RelationSource, folder: Path) -> list[Values]:
    origin = _origin(source)
    if isinstance(source, StreamSource) and source.timestamp is None and not source.progress:
        raise DataError(
            f"the {described(source)} is stamped on arrival, and stored rows do not arrive",
            hint="declare which attribute holds the time: TIMESTAMP BY …",
        )
    if origin.format == "python":
        return completed(source, called(origin, source.stored, folder), f"python {origin.path!r}")
    check_options(origin, described(source))
    complete = Completion(source).row
    return read_files(origin, find_files(origin, folder, described(source)), source.stored, complete)


def completed(source: StreamSource | RelationSource, rows: Sequence[Values], what: str) -> list[Values]:
    """Rows that are in no file with their computed attributes."""
    complete = Completion(source).row
    return [complete(row, f"{what}, row {k}") for k, row in enumerate(rows, start=1)]


# Paths


def source_files(query: Operator, folder: Path) -> set[Path]:
    """The files that a query reads, as absolute paths."""
    found: set[Path] = set()
    for source in query.walk():
        if not isinstance(source, StreamSource | RelationSource) or source.origin is None:
            continue
        if source.origin.format in SUFFIXES:
            found |= {f.path.resolve() for f in find_files(source.origin, folder, described(source))}
    return found


def find_files(origin: Origin, folder: Path, source: str) -> list[File]:
    """The files of a path: itself, those of a folder, or those that a pattern matches, sorted."""
    path = origin.path.removeprefix("file://")
    if "://" in path:
        raise DataError(f"the {source} is at {path!r}, which needs the Spark engine", hint="the model reads files")
    try:
        return _find(path, origin, folder, source)
    except OSError as e:
        raise DataError(f"the {source}: {e.filename or path} cannot be read: {e.strerror or e}") from None


class NoFileError(DataError):
    """A folder or a pattern that is there, but without any file yet."""


def _find(path: str, origin: Origin, folder: Path, source: str) -> list[File]:
    bases = [folder] if folder.resolve() == Path.cwd() else [folder, Path.cwd()]
    tried = list(dict.fromkeys(base / path for base in bases))
    for base, full in zip(bases, tried, strict=False):
        found = _expand(full, origin)
        if found:
            return [File(f, str(f.relative_to(base) if not Path(path).is_absolute() else f)) for f in found]
        if found is not None:
            which = f"that ends with {' or '.join(SUFFIXES[origin.format])}"
            if _lists(origin):
                which = f"that {', '.join(k for k, _ in origin.options if k.lower() in _LISTING)} would take"
            raise NoFileError(f"the {source}: the folder {path} has no file {which}")
    names = [f.name for full in tried if full.parent.is_dir() for f in full.parent.iterdir()]
    raise (NoFileError if glob.has_magic(path) else DataError)(
        f"there is no file {path!r} for the {source}; tried {' and '.join(str(t.absolute()) for t in tried)}",
        hint=nearest(Path(path).name, names),
    )


def _expand(path: Path, origin: Origin) -> list[Path] | None:
    """The files at a path, none for a folder without any; None if there is no such path."""
    if path.is_dir():
        deep = flag(origin, "recursiveFileLookup")
        return sorted(f for f in (path.rglob("*") if deep else path.iterdir()) if _is_meant(f, path, origin))
    if path.exists():
        return [path]
    matched = sorted(glob.glob(str(path), recursive=True)) if glob.has_magic(str(path)) else []
    return [f for m in matched for f in _expand(Path(m), origin) or ()] or None


_LISTING = tuple(map(str.lower, LISTING))


def _lists(origin: Origin) -> bool:
    """Whether options say which files of a folder are read: then it is they alone, as in Spark."""
    return any(k.lower() in _LISTING for k, _ in origin.options)


def _is_meant(file: Path, folder: Path, origin: Origin) -> bool:
    # Names that begin with _ or . are notes that Spark leaves in the folders that it writes.
    if not file.is_file() or any(part.startswith(("_", ".")) for part in file.relative_to(folder).parts):
        return False
    if not _lists(origin):
        return file.name.endswith(tuple(s + packed for s in SUFFIXES[origin.format] for packed in ("", ".gz")))
    modified = file.stat().st_mtime_ns // 1000
    before, after = origin.option("modifiedBefore", ""), origin.option("modifiedAfter", "")
    in_time = (not before or modified < instant(before)) and (not after or modified > instant(after))
    return in_time and fnmatchcase(file.name, origin.option("pathGlobFilter", "*"))


# Callables


def called(origin: Origin, schema: Schema, folder: Path) -> list[Values]:
    """The rows that a callable gives: in the declared order, or by name."""
    shown = f"python {origin.path!r}"
    with importable(folder):
        given = _guarded(find_callable(origin.path, folder), shown)()
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise DataError(f"{shown} gave {given!r}, not rows", hint="return a list of tuples, or yield them")
        rows = _guarded(list, shown)(given)
    named = NamedRows(schema)
    typed_rows = [_typed_row(row, schema, named, f"{shown}, row {k}") for k, row in enumerate(rows, start=1)]
    named.check_all_seen(shown)
    return typed_rows


def _typed_row(row: Any, schema: Schema, named: NamedRows, where: str) -> Values:
    if isinstance(row, Mapping):
        return named.row({k: _plain(v) for k, v in row.items()}, where)
    if isinstance(row, str | bytes) or not isinstance(row, Sequence):
        raise DataError(f"{where} is {row!r}, not a row", hint="give a tuple in the declared order, or a dict")
    if len(row) != len(schema):
        raise DataError(f"{where} has {len(row)} values, but {len(schema)} attributes are declared ({schema})")
    return tuple(typed(_plain(v), a, where) for a, v in zip(schema, row, strict=True))


def _plain(value: Any) -> Any:
    """A number of numpy as Python's own."""
    return value.item() if hasattr(value, "item") else value


def read_sensor(source: SensedSource, folder: Path) -> Sensor:
    """The callable of a sensed stream; it gives the measured attributes in order, or by name."""
    origin = _origin(source)
    measure = _guarded(find_callable(origin.path, folder), f"python {origin.path!r}")
    measured = Schema(tuple(source.declared[n] for n in source.measured))

    def sensor(site: Any, t: Instant) -> Values:
        named = NamedRows(measured)
        where = f"python {origin.path!r} for site {site}"
        values = _typed_row(measure(site, t), measured, named, where)
        named.check_all_seen(where)
        return values

    return sensor


def imported(origin: Origin, folder: Path) -> Callable[..., Any]:
    """The callable of a source, imported but not called."""
    return find_callable(origin.path, folder)


def _guarded(f: Callable[..., Any], shown: str) -> Callable[..., Any]:
    """The callable, with what goes wrong inside it as an error that names it."""

    @functools.wraps(f)
    def call(*args: Any) -> Any:
        try:
            return f(*args)
        except AstralError:
            raise
        except Exception as e:
            raise DataError(f"{shown} failed: {what_failed(e)}") from e

    return call
