"""Retained state in files: tables that only ever grow by new files, are trimmed now and then, and never rewritten."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from astralq.runtime.checkpoint.folders import Folders
from astralq.runtime.checkpoint.records import Record, file_sum
from astralq.spark.state.store import Facts, Notes

SLACK = 50_000
"""A table is trimmed when it has twice the rows that it had then, and so many more."""

FILES = 8
"""… or when it consists of more than so many parts."""


@dataclass(frozen=True)
class Part:
    """Files that were written together: their folder in the checkpoint, their sizes and checksums, and their rows."""

    folder: str
    files: tuple[tuple[str, int, int], ...]  # name, bytes, checksum
    rows: int

    @staticmethod
    def of(root: Path, folder: Path) -> Part:
        """What was just written to a folder; files without rows count for nothing."""
        found, rows = [], 0
        for path in sorted(folder.glob("part-*")):
            count = pq.ParquetFile(path).metadata.num_rows
            if count:
                found.append((path.name, path.stat().st_size, file_sum(path)))
                rows += count
        return Part(str(folder.relative_to(root)), tuple(found), rows)

    @staticmethod
    def from_record(record: Record) -> Part:
        return Part(record["folder"], tuple((n, b, c) for n, b, c in record["files"]), record["rows"])

    @property
    def record(self) -> Record:
        return {"folder": self.folder, "files": [list(f) for f in self.files], "rows": self.rows}

    @property
    def size(self) -> int:
        return sum(b for _, b, _ in self.files)

    def paths(self, root: Path) -> list[str]:
        return [str(root / self.folder / name) for name, _, _ in self.files]

    def is_whole(self, root: Path) -> bool:
        """Whether all files are there as they were written."""
        for name, size, sum_ in self.files:
            path = root / self.folder / name
            if not path.is_file() or path.stat().st_size != size or file_sum(path) != sum_:
                return False
        return True


@dataclass(frozen=True)
class Table:
    """A table of an edge: its parts, its columns, and how many rows were needed when it was trimmed last."""

    parts: tuple[Part, ...]
    schema: StructType
    needed: int = 0

    @staticmethod
    def from_record(record: Record) -> Table:
        schema = StructType.fromJson(json.loads(record["schema"]))
        return Table(tuple(Part.from_record(p) for p in record["parts"]), schema, record["needed"])

    @property
    def record(self) -> Record:
        return {"parts": [p.record for p in self.parts], "schema": self.schema.json(), "needed": self.needed}

    @property
    def rows(self) -> int:
        return sum(p.rows for p in self.parts)

    @property
    def size(self) -> int:
        return sum(p.size for p in self.parts)

    def frame(self, spark: SparkSession, root: Path) -> DataFrame:
        paths = [path for p in self.parts for path in p.paths(root)]
        if not paths:
            return spark.createDataFrame([], self.schema)
        return spark.read.schema(self.schema).parquet(*paths)


@dataclass
class InFiles(Notes):
    """The memory of one query in one epoch; `finish` says what the next one will find."""

    spark: SparkSession
    folders: Folders
    query: str
    epoch: int
    tables: Mapping[str, Table]
    always_trim: bool = False
    _tables: dict[str, Table] = field(default_factory=dict)
    _frames: dict[str, DataFrame] = field(default_factory=dict)

    def kept(self, edge: str) -> DataFrame | None:
        table = self.tables.get(edge)
        return None if table is None else table.frame(self.spark, self.folders.root)

    def grow(self, edge: str, new: DataFrame) -> DataFrame:
        if edge not in self._tables:
            before = self.tables.get(edge)
            part = self._write(edge, new, "new")
            if before is None:
                table = Table((part,), _nullable(new.schema))
            else:
                names = set(before.schema.names)
                further = [f for f in _nullable(new.schema) if f.name not in names]
                table = Table((*before.parts, part), StructType([*before.schema, *further]), before.needed)
            self._settle(edge, table)
        return self._frames[edge]

    def replace(self, edge: str, df: DataFrame) -> DataFrame:
        if edge not in self._tables:
            part = self._write(edge, df, "all")
            self._settle(edge, Table((part,), _nullable(df.schema), part.rows))
        return self._frames[edge]

    def _write(self, edge: str, df: DataFrame, part: str) -> Part:
        folder = self.folders.state(self.query, edge, self.epoch, part)
        df.write.mode("overwrite").parquet(str(folder))
        return Part.of(self.folders.root, folder)

    def _settle(self, edge: str, table: Table) -> None:
        self._tables[edge] = Table(tuple(p for p in table.parts if p.rows), table.schema, table.needed)
        self._frames[edge] = self._tables[edge].frame(self.spark, self.folders.root)

    def finish(self) -> tuple[dict[str, Table], Facts]:
        """Trims what has grown enough, and counts; the tables and facts for the next epoch."""
        for edge, needed in self._trims.items():
            table = self._tables.get(edge)
            if table is None or not (self.always_trim or _worth_trimming(table)):
                continue
            df = needed()
            part = self._write(edge, df, "trimmed")
            self._tables[edge] = Table((part,) if part.rows else (), _nullable(df.schema), part.rows)
        return self._tables, self.facts_after()


def _worth_trimming(table: Table) -> bool:
    return table.rows > 2 * table.needed + SLACK or len(table.parts) > FILES


def _nullable(schema: StructType) -> StructType:
    """As files have it: any column may be missing in one of them."""
    return StructType.fromJson({"type": "struct", "fields": [{**f.jsonValue(), "nullable": True} for f in schema]})


def parts_of(tables: Mapping[str, Table]) -> Iterator[Part]:
    for table in tables.values():
        yield from table.parts
