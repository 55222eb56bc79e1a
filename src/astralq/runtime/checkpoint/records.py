"""Small records that survive a crash: JSON with a checksum, synced, and renamed into place."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from astralq.errors import AstralError

Record = dict[str, Any]


class CorruptRecordError(AstralError):
    """A record is not what was written."""


def write_record(path: Path, record: Record) -> None:
    """Writes a record atomically: after a crash it is complete, or not there."""
    body = json.dumps(record, sort_keys=True, separators=(",", ":"))
    text = json.dumps({"sum": _sum(body), "record": body})
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("w", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def read_record(path: Path) -> Record:
    """Reads a record; an error if its checksum does not match."""
    try:
        outer = json.loads(path.read_text(encoding="utf-8"))
        body = outer["record"]
        whole = outer["sum"] == _sum(body)
    except (ValueError, KeyError, TypeError, UnicodeDecodeError):
        whole = False
    if not whole:
        raise CorruptRecordError(f"{path} is damaged", hint="it is not used; the one before it is")
    record: Record = json.loads(body)
    return record


def newest(folder: Path) -> Iterator[tuple[int, Record]]:
    """The records N.json of a folder, newest first, without damaged ones."""
    for number in reversed(numbers(folder)):
        try:
            yield number, read_record(folder / f"{number}.json")
        except CorruptRecordError:
            continue


def numbers(folder: Path) -> list[int]:
    """The numbers of the records N.json in a folder."""
    if not folder.is_dir():
        return []
    return sorted(int(f.stem) for f in folder.glob("*.json") if f.stem.isdigit())


def _sum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def file_sum(path: Path) -> int:
    """A checksum of a file's bytes."""
    sum_ = 0
    with path.open("rb") as f:
        while block := f.read(1 << 20):
            sum_ = zlib.crc32(block, sum_)
    return sum_


def sync_folder(path: Path) -> None:
    """Makes renames into a folder survive a crash of the machine."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
