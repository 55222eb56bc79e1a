"""Retained state in files: tables to which files are appended, and which are compacted now and then."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from astralq.runtime.checkpoint.folders import Folders
from astralq.runtime.checkpoint.records import Record, file_sum

SLACK = 50_000
"""A table is compacted when it has twice the rows that it had then, and so many more."""

TOGETHER = 16
"""How many parts of one size of a table whose rows expire become one."""

FILES = 8
"""… or when it consists of more than so many parts."""


@dataclass(frozen=True)
class Part:
    """Files that were written together: their folder in the checkpoint, their sizes and checksums, and their rows."""

    folder: str
    files: tuple[tuple[str, int, int], ...]  # name, bytes, checksum
    rows: int
    span: tuple[int, int] | None = None  # the least and the greatest tt, where rows have one and files tell it
    level: int = 0  # how often its rows have been put together with others

    @staticmethod
    def of(root: Path, folder: Path, level: int = 0) -> Part:
        """What was just written to a folder; files without rows count for nothing."""
        found, rows = [], 0
        for path in sorted(folder.glob("part-*")):
            count = pq.ParquetFile(path).metadata.num_rows
            if count:
                found.append((path.name, path.stat().st_size, file_sum(path)))
                rows += count
        part = Part(str(folder.relative_to(root)), tuple(found), rows, level=level)
        ends = [part.ends(root, "tt", side) for side in ("min", "max")]
        return replace(part, span=None if ends[0] is None or ends[1] is None else (ends[0], ends[1]))

    @staticmethod
    def from_record(record: Record) -> Part:
        span = record["span"]
        files = tuple((n, b, c) for n, b, c in record["files"])
        return Part(record["folder"], files, record["rows"], None if span is None else (*span,), record["level"])

    @property
    def record(self) -> Record:
        return {
            "folder": self.folder,
            "files": [list(f) for f in self.files],
            "rows": self.rows,
            "span": None if self.span is None else list(self.span),
            "level": self.level,
        }

    @property
    def size(self) -> int:
        return sum(b for _, b, _ in self.files)

    def paths(self, root: Path) -> list[str]:
        return [str(root / self.folder / name) for name, _, _ in self.files]

    def ends(self, root: Path, column: str, side: Literal["min", "max"]) -> int | None:
        """The least or the greatest value of a column, from the files' statistics; None if these do not have it."""
        values: list[int] = []
        for path in self.paths(root):
            metadata = pq.ParquetFile(path).metadata
            if column not in metadata.schema.names:
                return None
            place = metadata.schema.names.index(column)
            for k in range(metadata.num_row_groups):
                statistics = metadata.row_group(k).column(place).statistics
                if statistics is None or not statistics.has_min_max:
                    return None
                values.append(getattr(statistics, side))
        return ({"min": min, "max": max}[side])(values) if values else None

    def is_whole(self, root: Path) -> bool:
        """Whether all files are there as they were written."""
        for name, size, sum_ in self.files:
            path = root / self.folder / name
            if not path.is_file() or path.stat().st_size != size or file_sum(path) != sum_:
                return False
        return True


@dataclass(frozen=True)
class Table:
    """A state table: its parts, its columns, and how many rows were needed when it was compacted last."""

    parts: tuple[Part, ...]
    schema: StructType
    needed: int = 0
    expires: bool = False  # an epoch reads those rows only that leave in it

    @staticmethod
    def from_record(record: Record) -> Table:
        schema = StructType.fromJson(json.loads(record["schema"]))
        parts = tuple(Part.from_record(p) for p in record["parts"])
        return Table(parts, schema, record["needed"], record["expires"])

    @property
    def record(self) -> Record:
        parts = [p.record for p in self.parts]
        return {"parts": parts, "schema": self.schema.json(), "needed": self.needed, "expires": self.expires}

    @property
    def rows(self) -> int:
        return sum(p.rows for p in self.parts)

    @property
    def size(self) -> int:
        return sum(p.size for p in self.parts)

    def rows_read(self, since: int | None, until: int) -> int:
        """About how many rows an epoch over the half-open interval (since, until] reads."""
        return self.between(since, until).rows if self.expires and since is not None else self.rows

    def between(self, after: int, upto: int) -> Table:
        """Without parts that have no tt in the half-open interval (after, upto]."""
        chosen = (p for p in self.parts if p.span is None or (p.span[1] > after and p.span[0] <= upto))
        return replace(self, parts=tuple(chosen))

    def frame(self, spark: SparkSession, root: Path) -> DataFrame:
        paths = [path for p in self.parts for path in p.paths(root)]
        if not paths:
            return spark.createDataFrame([], self.schema)
        return spark.read.schema(self.schema).parquet(*paths)


@dataclass
class InFiles:
    """The state tables of queries in one epoch: what the epoch before left, and what this one has written."""

    spark: SparkSession
    folders: Folders
    epoch: int
    tables: Mapping[str, Table]
    always_compact: bool = False
    written: dict[str, Table] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(table.schema.names) for name, table in self.tables.items()}

    def get(self, name: str) -> DataFrame:
        return self.tables[name].frame(self.spark, self.folders.root)

    def with_rows(self, name: str, rows: DataFrame) -> DataFrame:
        if name not in self.tables:
            return rows
        return self.get(name).unionByName(rows, allowMissingColumns=True)

    def append(self, name: str, rows: DataFrame) -> None:
        before = self.tables.get(name) or Table((), StructType([]))
        part = self._write(name, rows, "new")
        names = set(before.schema.names)
        further = [f for f in _nullable(rows.schema) if f.name not in names]
        self._settle(name, Table((*before.parts, part), StructType([*before.schema, *further]), before.needed))

    def replace(self, name: str, rows: DataFrame) -> None:
        part = self._write(name, rows, "all")
        self._settle(name, Table((part,), _nullable(rows.schema), part.rows))

    def after(self, name: str) -> DataFrame:
        return self.written[name].frame(self.spark, self.folders.root)

    def compact(self, name: str, needed: DataFrame) -> None:
        part = self._write(name, needed, "compacted")
        self.written[name] = Table((part,) if part.rows else (), _nullable(needed.schema), part.rows)

    def is_worth_compacting(self, name: str) -> bool:
        table = self.written.get(name)
        return table is not None and (self.always_compact or _has_grown(table))

    def greatest(self, name: str, column: str) -> int | None:
        """From the statistics of the file that was written last."""
        table = self.written.get(name)
        return None if table is None or not table.parts else table.parts[-1].ends(self.folders.root, column, "max")

    def between(self, name: str, after: int, upto: int) -> DataFrame:
        return self.tables[name].between(after, upto).frame(self.spark, self.folders.root)

    def expire(self, name: str, until: int) -> None:
        """Whole parts are dropped; as soon as there are many of one size, these become one, so that a row is written
        again as seldom as the logarithm of their number."""
        table = self.written[name]
        parts = [p for p in table.parts if p.span is None or p.span[1] > until]
        while len(parts) >= TOGETHER and len({p.level for p in parts[-TOGETHER:]}) == 1:
            level = parts[-1].level + 1
            merged = replace(table, parts=tuple(parts[-TOGETHER:])).frame(self.spark, self.folders.root)
            rows = merged.where(F.col("tt") > until).coalesce(1).sortWithinPartitions("tt")
            parts[-TOGETHER:] = [self._write(name, rows, f"together-{level}", level)]
        self.written[name] = replace(table, parts=tuple(parts), expires=True)

    def _write(self, name: str, rows: DataFrame, part: str, level: int = 0) -> Part:
        folder = self.folders.state(name, self.epoch, part)
        rows.write.mode("overwrite").parquet(str(folder))
        return Part.of(self.folders.root, folder, level)

    def _settle(self, name: str, table: Table) -> None:
        self.written[name] = Table(tuple(p for p in table.parts if p.rows), table.schema, table.needed)


def _has_grown(table: Table) -> bool:
    return table.rows > 2 * table.needed + SLACK or len(table.parts) > FILES


def _nullable(schema: StructType) -> StructType:
    """As files have it: any column may be missing in one of them."""
    return StructType.fromJson({"type": "struct", "fields": [{**f.jsonValue(), "nullable": True} for f in schema]})


def parts_of(tables: Mapping[str, Table]) -> Iterator[Part]:
    for table in tables.values():
        yield from table.parts
