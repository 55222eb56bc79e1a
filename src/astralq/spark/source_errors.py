"""Error translation for sources: a job that failed because of a file becomes an error that names file and value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from astralq.algebra.sources import Origin, RelationSource, StreamSource
from astralq.errors import DataError
from astralq.io.computed import Completion
from astralq.io.files import described, find_files
from astralq.io.formats import check_options, read_files
from astralq.io.reading import SUFFIXES, File
from astralq.spark.sources.reading import HINT, MARK

_LARGEST_REREAD = 32 * 2**20


def translate_source_error(
    source: StreamSource | RelationSource, folder: Path, error: BaseException
) -> DataError | None:
    """The error of a failed job as the model would raise it; None if the job did not fail because of this source.

    The model reads the failed file again, because it knows rows and lines. If the file is too large for that, or not
    local, the error has the file and the value only.
    """
    origin = source.origin
    if origin is None or origin.format not in (*SUFFIXES, "jdbc"):
        return None
    text = str(error)
    raised = re.search(rf"\[{MARK} {re.escape(described(source))}\] (.*?) SQLSTATE: P0001", text, re.S)
    read = re.search(r"\[FAILED_READ_FILE.*?reading file (\S+?)\.\s", text)
    malformed = re.search(r"TextParsingException|MALFORMED_RECORD_IN_PARSING", text)
    if raised is None and read is None and malformed is None:
        return None
    files = _local(origin, folder, source)
    path = raised[1].split(": ")[0].split(" is not")[0] if raised else read[1] if read else None
    named = [f for f in files if path is None or _is(f, path)]
    if read and not named and not read[1].startswith(re.split(r"[*?\[{]", origin.path)[0]):
        return None
    if named and _small(named) and _known(origin, source):
        try:
            read_files(origin, named, source.stored, Completion(source).row)
        except DataError as e:
            return e
        if path is None:
            return None  # a malformed record, but of another source
    if raised:
        message, _, hint = raised[1].partition(HINT)
        return DataError(message.replace(path or "", named[0].shown, 1) if named else message, hint=hint or None)
    if read:
        return DataError(f"{named[0].shown if named else path} cannot be read: {_reason(text)}")
    if origin.format != ("csv" if "TextParsingException" in text else "json"):
        return None
    return DataError(f"{origin.path} has a record that is not {origin.format}: {_reason(text)}")


def _local(origin: Origin, folder: Path, source: StreamSource | RelationSource) -> list[File]:
    try:
        return find_files(origin, folder, described(source)) if origin.format in SUFFIXES else []
    except DataError:
        return []


def _is(file: File, path: str) -> bool:
    """Whether a path as Spark writes it, file:/… with %-escapes, is the file."""
    return unquote(re.sub(r"^file:/+", "/", path)) == str(file.path.absolute())


def _small(files: Sequence[File]) -> bool:
    return sum(f.path.stat().st_size for f in files) <= _LARGEST_REREAD


def _known(origin: Origin, source: StreamSource | RelationSource) -> bool:
    """Whether the model knows all options; without one of them it could read the file differently."""
    try:
        check_options(origin, described(source))
    except DataError:
        return False
    return True


def _reason(text: str) -> str:
    causes = re.findall(r"(?:Caused by: |Exception: )(.*)", text)
    return (causes[-1] if causes else text.splitlines()[0])[:200]
