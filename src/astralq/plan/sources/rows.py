"""From the rows of sources to streams and relations: stamps, batches, φ, and validity intervals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from astralq.algebra.constants import Constants
from astralq.algebra.sources import RelationSource, SensedSource, Source, StreamSource, Validity
from astralq.datatypes import Type
from astralq.errors import DataError
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, columns, lit, long
from astralq.plan.encoding.batches import ALWAYS, NEVER
from astralq.plan.encoding.descending import reversed_columns
from astralq.plan.encoding.tables import Key, RelationTable, StreamTable, attributes, relabelled
from astralq.plan.operators.expressions import Names, compiled
from astralq.plan.sources import changes
from astralq.plan.sources.stamps import failing, moment, required
from astralq.plan.sql_types import spark_type
from astralq.plan.sql_types import stored as stored_form
from astralq.plan.table import ONE_ROW, Scan, Table
from astralq.schema import Schema
from astralq.timeline import Instant

STAMP = ("_t", "_i", "_n", "_heartbeat")
"""The columns with which rows may bring their own timestamp, batch index and position, and say that they are
heartbeats: no tuples, but how far time has come."""


def scanned(source: Source, stamp: Collection[str]) -> Table:
    """A source's rows, with those columns of a stamp that they have."""
    has = () if isinstance(source, RelationSource) else tuple(c for c in STAMP if c in stamp)
    scan = Scan(source.name, (*attributes(source.declared), *has))
    if not any(a.type.holds("MAP") for a in source.declared):
        return scan
    held = [F.expr(stored_form(f"c{k}", a.type)).alias(f"c{k}") for k, a in enumerate(source.declared)]
    return scan.select(*held, *columns(has))


def has_plain_time(source: Source) -> bool:
    """Whether a source's timestamp is a plain column."""
    return isinstance(source, StreamSource) and source.timestamp is not None and source.unit is None


def bounded(source: Source, rows: Table, t0: Instant | None, until: Instant | None) -> Table:
    """The rows of the closed interval [t0, until] of a source whose timestamp is a plain column, so that files outside
    are not read; of others `from_start` leaves those outside out."""
    if not has_plain_time(source):
        return rows
    assert isinstance(source, StreamSource)
    assert source.timestamp is not None
    at = col(f"c{source.declared.index(source.timestamp)}")
    for bound, sign in ((t0, ">="), (until, "<=")):
        if bound is not None:
            limit = F.timestamp_micros(long(bound))
            rows = rows.where(at >= limit if sign == ">=" else at <= limit)
    return rows


def received(source: StreamSource | SensedSource, rows: Table) -> StreamTable:
    """003's receive: the tuples with their stamps, not numbered yet."""
    schema = source.schema
    if "_heartbeat" in rows.columns:
        rows = rows.where(~col("_heartbeat"))
    if isinstance(source, SensedSource) or source.timestamp is None:
        return _stamped_already(source, rows)
    t = moment(source, source.timestamp)
    missing = f"a row of stream {source.name} {source.lacks_timestamp}"
    by = _positions(source)
    order = tuple(dict.fromkeys([*by, *attributes(schema)]))
    arrival = []
    if "_n" in rows.columns and not source.position_by:
        # A source that has an order of its own, as a log has.
        arrival, order = [col("_n").cast("bigint").alias("o0")], ("o0", *order)
    tuples: Table = rows.select(*columns(attributes(schema)), *_made(by), *arrival, required(t, missing).alias("t"))
    if source.batch_by is not None:
        i = col(f"c{schema.index(source.batch_by)}").cast("bigint")
        wrong = f"stream {source.name}: a batch index in {source.batch_by!r} is not 0, 1, 2, …"
        tuples = tuples.with_column("i", failing(i.is_null() | (i < 0), wrong, i))
    elif source.batch_each_row:
        window = Window.partition_by("t").order_by(*order)
        tuples = tuples.with_column("i", F.row_number().over(window).cast("bigint") - 1)
    return StreamTable(tuples, schema, order, one_batch=source.batch_by is None and not source.batch_each_row)


def without_time(source: StreamSource | SensedSource, stream: StreamTable) -> StreamTable:
    """Without the timestamp's own attribute in the order, where it says no more than t, by which tuples are ordered
    first; all others are in it. Fewer columns are sorted by, and none is kept for it where nobody reads it."""
    if isinstance(source, SensedSource) or source.stamped_by is None or source.unit is not None:
        return stream
    at = f"c{source.schema.index(source.stamped_by)}"
    return replace(stream, order=tuple(c for c in stream.order if c != at), total=True, time=at)


def _stamped_already(source: StreamSource | SensedSource, rows: Table) -> StreamTable:
    schema = source.declared
    if "_t" not in rows.columns:
        raise DataError(
            f"the stream {source.name} has no timestamp of its own",
            hint="declare which attribute holds the time, or give a DataFrame with the columns _t and _i",
        )
    stamp = [col("_t").cast("bigint").alias("t")]
    one_batch = "_i" not in rows.columns
    stamp += [] if one_batch else [col("_i").cast("bigint").alias("i")]
    if "_n" in rows.columns:
        tuples = rows.select(*columns(attributes(schema)), *stamp, col("_n").cast("bigint").alias("o0"))
        return StreamTable(tuples, schema, ("o0",), one_batch)
    tuples = rows.select(*columns(attributes(schema)), *stamp)
    return StreamTable(tuples, schema, tuple(attributes(schema)), one_batch)


def _positions(source: StreamSource | RelationSource) -> dict[str, Column | None]:
    """The columns that POSITION BY sorts by: attributes, or what is made of those that are descending."""
    found: dict[str, Column | None] = {}
    for name in source.position_by:
        column = f"c{source.schema.index(name)}"
        if name not in source.descending:
            found[column] = None
            continue
        # NULLs are the least values, and so the last.
        made = [col(column).is_null(), *reversed_columns(col(column), source.schema[name].type)]
        found |= {f"down{len(found) + k}": value for k, value in enumerate(made)}
    return found


def _made(by: Mapping[str, Column | None]) -> list[Column]:
    return [value.alias(c) for c, value in by.items() if value is not None]


def standing(op: RelationSource | Constants, scan: Callable[[RelationSource], Table]) -> RelationTable:
    """A relation that stands in files, or in the query itself."""
    return constants(op) if isinstance(op, Constants) else stored(op, scan(op))


def stored(source: RelationSource, rows: Table) -> RelationTable:
    """A base relation that is no log: POSITION BY, all values, and a number that tells equal rows apart are its φ."""
    schema = source.schema
    by = _positions(source)
    order = list(dict.fromkeys([*by, *attributes(schema)]))
    start, end = lit(ALWAYS), lit(NEVER)
    if source.valid_from is not None:
        since = moment(source, source.valid_from)
        start = required(since, f"a row of relation {source.name} has no {source.valid_from!r}")
        if source.valid_to is not None:
            until = moment(source, source.valid_to)
            early = f"relation {source.name}: a row is valid to a time before it is valid from"
            end = failing(until < start, early, F.coalesce(until, lit(NEVER)))
    copies = Window.partition_by(*attributes(schema)).order_by(lit(0))
    told_apart = rows.select(
        *columns(attributes(schema)),
        *_made(by),
        (F.row_number().over(copies) - 1).cast("bigint").alias("o0"),
        start.cast("bigint").alias("ft"),
        end.cast("bigint").alias("tt"),
    ).where(col("ft") < col("tt"))
    phi, made = relabelled(tuple(Key(c) for c in [*order, "o0"]))
    relation = told_apart.select(*columns(attributes(schema)), *made, "ft", "tt")
    return RelationTable(relation, schema, phi, one_batch=True, append_only=source.valid_to is None)


def constants(op: Constants) -> RelationTable:
    """VALUES: its rows, by their places."""
    schema, nothing = op.schema, Names(Schema(()), [])
    rows = [
        F.struct(
            *(
                _typed(compiled(e, nothing), a.type).alias(c)
                for e, a, c in zip(row, schema, attributes(schema), strict=True)
            ),
            long(k).alias("o0"),
        )
        for k, row in enumerate(op.rows)
    ]
    exploded = ONE_ROW.select(F.explode(F.array(*rows)).alias("row"))
    made = [col(f"row.{c}").alias(c) for c in (*attributes(schema), "o0")]
    placed = exploded.select(*made, long(ALWAYS).alias("ft"), long(NEVER).alias("tt"))
    return RelationTable(placed, schema, (Key("o0"),), one_batch=True, append_only=True)


def _typed(constant: Column, type_: Type) -> Column:
    """A constant with its type, which NULL alone has not; values with parts have theirs already."""
    return constant if type_.is_nested else constant.cast(spark_type(type_))


def _heartbeats(source: StreamSource | SensedSource, rows: Table) -> Table:
    """How far heartbeats say that time has come, as t and i."""
    assert isinstance(source, StreamSource)
    missing = f"a heartbeat of stream {source.name} has no timestamp"
    own = source.timestamp is None
    t = col("_t").cast("bigint") if own else moment(source, str(source.timestamp))
    i = F.coalesce(col("_i"), lit(0)).cast("bigint") if own and "_i" in rows.columns else long(0)
    return rows.select(required(t, missing).alias("t"), i.alias("i"), lit(True).alias("heartbeat"))


def moments(source: Source, rows: Table) -> Table | None:
    """The batch identifiers of a source's rows as t and i, and with each whether it is a change '-' that finds
    nothing; None for a relation that does not change."""
    usual, zero = lit(False).alias("unmatched"), long(0).alias("i")
    if not isinstance(source, RelationSource):
        stream = received(source, rows)
        tuples: Table = stream.rows.with_columns({"i": stream.batch.index, "unmatched": usual})
        if "_heartbeat" not in rows.columns:
            return tuples
        further = _heartbeats(source, rows.where(col("_heartbeat")))
        return tuples.with_column("heartbeat", lit(False)).union(further.with_column("unmatched", usual), missing=True)
    if source.validity is Validity.CHANGES:
        return changes.moments(source, rows).with_column("i", zero)
    names = [n for n in (source.valid_from, source.valid_to) if n is not None]
    if not names:
        return None
    times = rows.select(F.explode(F.array(*(moment(source, n) for n in names))).alias("t"), zero, usual)
    return times.where(col("t").is_not_null())
