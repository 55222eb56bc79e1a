"""What becomes of the values that a reader gives: Spark turns what does not fit into NULL, here it is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everywhere in Spark's documentation

from astralq.datatypes import Type
from astralq.io.parquet import INTEGRAL, arrow_type, arrow_value, catalog_name, mismatch
from astralq.io.reading import NO_PATTERNS, NUMBER_AS_TIME
from astralq.plan.sql_types import spark_type
from astralq.schema import Attribute, Schema, article
from astralq.timeline import MAX_INSTANT, MIN_INSTANT

MARK = "astralq"
"""Begins the message of every error that a row raises, so that it is found in what Spark says."""
HINT = "\n  hint: "
"""Before the hint in such a message, as in the message of an AstralError."""
FILE = "__file"
"""The column with the path of a row's file."""


@dataclass(frozen=True)
class Typed:
    """An attribute's value, whether it is wrong, and how it is shown then."""

    value: Column
    wrong: Column | None
    shown: Column
    hint: str = ""


@dataclass(frozen=True)
class Reading:
    """A frame with the column FILE, the attributes' values from it, and what else can be wrong with a row."""

    rows: DataFrame
    values: list[Typed]
    checks: list[tuple[Column, Column]]

    def problems(self, schema: Schema) -> list[tuple[Column, Column]]:
        """What can be wrong with a row, and how it is told then, after the name of its file."""
        wrong = list(self.checks)
        for a, typed in zip(schema, self.values, strict=True):
            if typed.wrong is not None:
                message = F.lit(f" in {a.name!r} is not {article(a.type)} {a.type}{typed.hint}")
                wrong.append((typed.wrong, F.concat(F.lit(": "), F.substring(typed.shown, 1, 200), message)))
        return wrong

    def with_problems(self, schema: Schema, further: Sequence[str] = ()) -> DataFrame:
        """All rows: the values as c0, c1, …, NULL in rows with something wrong; what that is as _problem, the row as
        it was read as _row, and further columns of it."""
        wrong = self.problems(schema)
        names = self.rows.columns
        shown = F.col("_line") if "_line" in names else F.to_json(F.struct(*(F.col(f"`{n}`") for n in names)))
        problem = F.lit(None).cast("string")
        if wrong:
            file = F.col(FILE) if FILE in names else F.lit("")
            cases = [(c, F.concat(file, m)) for c, m in wrong]
            problem = reduce(lambda chain, case: chain.when(*case), cases[1:], F.when(*cases[0]))
        rows = self.rows.withColumns({"_problem": problem, "_row": shown})
        values = [
            F.when(F.col("_problem").isNull(), t.value).cast(spark_type(a.type)).alias(f"c{k}")
            for k, (a, t) in enumerate(zip(schema, self.values, strict=True))
        ]
        return rows.select(*values, *further, "_problem", "_row")

    def frame(self, schema: Schema, source: str, further: Sequence[str] = ()) -> DataFrame:
        """The values, and further columns; a row with something wrong raises an error that names the source, the file
        and the value."""
        wrong = self.problems(schema)
        rows = self.rows
        if wrong:
            said = F.lit(f"[{MARK} {source}] ")
            cases = [(c, F.raise_error(F.concat(said, F.col(FILE), m)).cast("boolean")) for c, m in wrong]
            fine = reduce(lambda chain, case: chain.when(*case), cases[1:], F.when(*cases[0]))
            rows = rows.where(fine.otherwise(True))
        values = (t.value.alias(a.name) for a, t in zip(schema, self.values, strict=True))
        return rows.select(*values, *further)


def of_text(text: Column, a: Attribute, patterns: Mapping[str, str] = NO_PATTERNS, decoded: bool = False) -> Typed:
    """Text as a value of the attribute's type, as CAST reads it, or as the pattern of its type says.

    Decoded text that holds U+FFFD was not in the encoding that it was decoded by.
    """
    shown = F.concat(F.lit("'"), text, F.lit("'"))
    if a.type.name == "STRING":
        hint = f"{HINT}name the encoding of the file: OPTIONS (encoding = '…')"
        return Typed(text, sure(text.contains("\ufffd")) if decoded else None, shown, hint)
    if a.type.name in patterns:
        time = F.try_to_timestamp(text, F.lit(patterns[a.type.name]))
        value = time if a.type.name == "TIMESTAMP" else time.cast("date")
        return Typed(value, text.isNotNull() & (time.isNull() | _out_of_range(time)), shown)
    if a.type.name == "BINARY":
        value = F.try_to_binary(text, F.lit("base64"))
        return Typed(value, text.isNotNull() & value.isNull(), shown)
    value = text.try_cast(str(a.type))
    wrong = value.isNull()
    if a.type.name == "DATE":
        wrong = wrong | ~text.rlike(r"^\s*[0-9]{4}([^0-9]|$)") | (value < F.lit("0001-01-01").cast("date"))
    if a.type.name == "TIMESTAMP":
        # CAST takes a time of day as today's, and cuts off what is finer than a microsecond.
        finer = (F.length(text) > 20) & text.rlike(r"\.[0-9]{6}[0-9]*[1-9]")
        wrong = wrong | ~text.rlike(r"^\s*[0-9]{4}") | finer | _out_of_range(value)
    return Typed(text.cast(str(a.type)), text.isNotNull() & wrong, shown)


def of_parts(column: Column, a: Attribute) -> Typed:
    """What an object holds as an ARRAY, a MAP or a STRUCT, whose innermost values were read as text (`text_type`)."""
    value, wrong = _parts(column, a.type)
    shown = F.to_json(F.struct(column.alias("v")))
    return Typed(F.when(column.isNotNull(), value), column.isNotNull() & sure(wrong), shown)


def text_type(type_: Type) -> str:
    """The type with text for all that is read as text; DECIMALs keep their digits by themselves."""
    match type_.name:
        case "ARRAY":
            return f"array<{text_type(type_.element)}>"
        case "MAP":
            return f"map<string,{text_type(type_.element)}>"
        case "STRUCT":
            return f"struct<{','.join(f'`{n}`:{text_type(t)}' for n, t in type_.parts)}>"
    return spark_type(type_) if type_.name == "DECIMAL" else "string"


def _parts(column: Column, type_: Type) -> tuple[Column, Column]:
    """A value read as text, and whether something in it is wrong."""
    match type_.name:
        case "ARRAY":
            value = F.transform(column, lambda x: _parts(x, type_.element)[0])
            return value, F.exists(column, lambda x: sure(_parts(x, type_.element)[1]))
        case "MAP":
            value = F.transform_values(column, lambda _, x: _parts(x, type_.element)[0])
            return value, F.exists(F.map_values(column), lambda x: sure(_parts(x, type_.element)[1]))
        case "STRUCT":
            fields = [(n, *_parts(column.getField(n), t)) for n, t in type_.parts]
            value = F.when(column.isNotNull(), F.struct(*(v.alias(n) for n, v, _ in fields)))
            return value, reduce(Column.__or__, (sure(w) for _, _, w in fields))
        case "DECIMAL":
            return column, F.lit(False)
    leaf = of_text(column, Attribute("", type_))
    value = F.when(~sure(leaf.wrong), leaf.value) if leaf.wrong is not None else leaf.value
    return value, F.lit(False) if leaf.wrong is None else leaf.wrong


def sure(condition: Column) -> Column:
    """The condition, false where it is NULL."""
    return F.coalesce(condition, F.lit(False))


def _out_of_range(time: Column) -> Column:
    return ~F.unix_micros(time).between(F.lit(MIN_INSTANT), F.lit(MAX_INSTANT))


def of_column(column: Column, found: str, a: Attribute, where: str, whole_decimals: bool = False) -> Typed:
    """A column of Spark's type `found` as the attribute's type, if that can be exact; else an error.

    `nanos` is a BIGINT of nanoseconds since 1970, `unsigned` a DECIMAL of unsigned integers, `void` is always NULL.
    """
    to = spark_type(a.type)
    if a.type.is_nested and found.replace(" ", "") == catalog_name(a.type):
        return Typed(column, None, column.cast("string"))
    if a.type.is_nested and found != "void":
        raise mismatch(found, a, where, False)
    shown = column.cast("string")
    cast, tried = column.cast(to), column.try_cast(to)
    lost = column.isNotNull() & tried.isNull()
    found = found.replace(" ", "")
    whole = whole_decimals and found.startswith("decimal(") and found.endswith(",0)")
    integral = found in (*INTEGRAL, "unsigned") or whole
    match a.type.name:
        case _ if found == "void":
            return Typed(cast, None, shown)
        case _ if found.startswith(("string", "varchar", "char")):
            return of_text(column, a)
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT" if integral:
            never = found in INTEGRAL[: INTEGRAL.index(a.type.name.lower()) + 1]
            return Typed(cast, None if never else lost, shown)
        case "DOUBLE" if integral:
            if found in INTEGRAL[:3]:
                return Typed(cast, None, shown)
            back = tried.try_cast("decimal(38,0)") if found != "bigint" else tried.try_cast("bigint")
            exact = (tried < 2.0**63) & (back == column)
            return Typed(cast, column.isNotNull() & ~sure(exact), shown)
        case "DOUBLE" if found in ("float", "double"):
            return Typed(cast, None, shown)
        case "FLOAT" | "DATE" | "BINARY" if found == to:
            return Typed(column, None, shown)
        case "DECIMAL" if integral or found.startswith("decimal"):
            if found == to.lower().replace(" ", ""):
                return Typed(column, None, shown)
            source = {"unsigned": "decimal(20,0)"}.get(found, found)
            return Typed(cast, column.isNotNull() & ~sure(tried.try_cast(source) == column), shown)
        case "BOOLEAN" if found == "boolean":
            return Typed(column, None, shown)
        case "TIMESTAMP" if found in ("timestamp", "timestamp_ntz"):
            return Typed(cast, column.isNotNull() & _out_of_range(cast), shown)
        case "TIMESTAMP" if found == "nanos":
            # As decimals, because BIGINT / INT is DOUBLE; what is no whole microsecond is refused.
            value = F.timestamp_micros((column.cast("decimal(20,0)") / 1000).cast("bigint"))
            return Typed(value, sure(column % 1000 != 0), F.concat(shown, F.lit(" ns since 1970")))
    raise mismatch(found, a, where, integral)


def of_another_kind(column: Column, a: Attribute, name: str, whole: bool) -> tuple[Column, Column]:
    """A number as a time, and whatever else is another kind of value than its text tells; looked at only in doubt."""
    text = column.cast("string")
    match a.type.name:
        case "TIMESTAMP" | "DATE":
            doubtful = text.rlike(r"^\s*[0-9]+\s*$")
        case "BOOLEAN":
            doubtful = text.isin("0", "1")
        case "STRING":
            doubtful = text.rlike(r"^(true|false|[\[{].*|-?[0-9]+[.eE].*|\"(NaN|-?Infinity)\")$")
        case _:
            doubtful = F.lit(False)
    path = F.variant_get(F.try_parse_json("_line"), f'$["{name}"]', "variant")
    is_text = sure(F.schema_of_variant(path) == "STRING")
    wrong = doubtful if whole else doubtful & ~is_text
    if whole and a.type.name == "STRING":
        wrong = F.lit(False)
    hints = {"TIMESTAMP": NUMBER_AS_TIME, "DATE": "write dates as '2026-03-01'", "BOOLEAN": "write true or false"}
    hint = hints.get(a.type.name, "put it into quotes")
    return sure(wrong), F.concat(F.lit(": "), text, F.lit(f" in {a.name!r} is not a {a.type}{HINT}{hint}"))


def spelt_otherwise(column: Column, a: Attribute, name: str) -> tuple[Column, Column]:
    """A name in another case than in the other objects, which Spark would not see."""
    others = F.exists(F.json_object_keys("_line"), lambda k: (F.lower(k) == a.name.lower()) & (k != name))
    message = F.lit(f": {a.name!r} is spelt in two ways{HINT}write {name!r} in all objects")
    return column.isNull() & sure(others), message


def from_rows(spark: SparkSession, rows: Sequence[Sequence[Any]], schema: Schema) -> DataFrame:
    """Typed rows of the model's, through Arrow: instants are microseconds there too."""
    import pyarrow as pa  # type: ignore[import-untyped]

    types = [pa.duration("us") if a.type.name == "INTERVAL" else arrow_type(a.type) for a in schema]
    columns = [
        pa.array([arrow_value(row[k], a.type) for row in rows], t)
        for k, (a, t) in enumerate(zip(schema, types, strict=True))
    ]
    return spark.createDataFrame(pa.table(columns, names=list(schema.names)))
