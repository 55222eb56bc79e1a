"""From a user's DataFrames to streams and relations: stamps, batches, φ, and validity intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.sources import UNITS, RelationSource, SensedSource, StreamSource, Validity
from astralq.errors import DataError, nearest
from astralq.schema import BOOLEAN, Schema, Type
from astralq.spark.batches import ALWAYS, NEVER
from astralq.spark.columns import col, lit, long
from astralq.spark.exact import Layout, Range, double_range
from astralq.spark.frames import Key, Phi, RelationFrame, StreamFrame, attributes, columns, relabelled
from astralq.spark.memory import Memory
from astralq.timeline import MAX_INSTANT, MIN_INSTANT, BatchId, Instant

Source = StreamSource | SensedSource | RelationSource


def spark_type(type_: Type) -> str:
    """The name of a type in Spark's schemas."""
    return {"INTERVAL": "interval day to second", "NULL": "void"}.get(type_.name, str(type_).lower())


@dataclass(frozen=True)
class Times:
    """What the timestamps of a source say of a run: its first batch, its last instant, and how many rows there are."""

    first: BatchId | None
    last: Instant | None
    rows: int


@dataclass
class Sources:
    """The DataFrames of a query's sources by name; what is learnt of them is learnt once."""

    given: Mapping[str, DataFrame]
    layouts: dict[tuple[str, int], Layout] = field(default_factory=dict)
    ranges: dict[tuple[str, int], Range] = field(default_factory=dict)
    firsts: Mapping[str, Instant] = field(default_factory=dict)  # first timestamps, of whose sources they are known
    _times: dict[tuple[str, int], Times] = field(default_factory=dict)
    _streams: dict[str, StreamFrame] = field(default_factory=dict)

    @property
    def session(self) -> SparkSession:
        """The session of the given DataFrames."""
        return next(iter(self.given.values())).sparkSession

    def frame(self, source: Source) -> DataFrame:
        """The source's rows as they were given, with its attributes as c0, c1, … and the stamp if it has one."""
        if source.name not in self.given:
            raise DataError(f"there are no data for the source {source.name!r}", hint=nearest(source.name, self.given))
        df = self.given[source.name]
        there = {c.lower(): c for c in df.columns}
        for a in source.declared:
            if a.name.lower() not in there:
                raise DataError(
                    f"the DataFrame for {source.name} has no column {a.name!r}: its columns are "
                    f"{', '.join(df.columns)}",
                    hint=nearest(a.name, df.columns),
                )
            found = df.schema[there[a.name.lower()]].dataType.simpleString()
            wanted = spark_type(a.type).replace(", ", ",")
            if found not in (wanted, "timestamp_ntz" if wanted == "timestamp" else wanted):
                raise DataError(
                    f"the column {a.name!r} of the DataFrame for {source.name} is {found.upper()}, "
                    f"and {a.type} is declared",
                    hint=f"cast it: df.withColumn('{a.name}', col('{a.name}').cast('{wanted}'))",
                )
        stamp = [there[c] for c in ("_t", "_i", "_n") if c in there and isinstance(source, StreamSource | SensedSource)]
        kept = [
            col(f"`{there[a.name.lower()]}`").cast(spark_type(a.type)).alias(f"c{k}")
            for k, a in enumerate(source.declared)
        ]
        return df.select(*kept, *(col(f"`{c}`").alias(c.lower()) for c in stamp))

    def stream(self, source: StreamSource | SensedSource) -> StreamFrame:
        """003's receive: the tuples with their stamps, not numbered yet."""
        if source.name not in self._streams:
            self._streams[source.name] = _received(source, self.frame(source))
        return self._streams[source.name]

    def times(self, sources: Sequence[Source], t0: Instant) -> list[Times]:
        """What the timestamps from t0 on say, of all sources in one pass."""
        asked = {s.name: s for s in sources if (s.name, t0) not in self._times}
        every: DataFrame | None = None
        for name, source in asked.items():
            self._times[name, t0] = Times(None, None, 0)
            df = self._moments(source)
            if df is not None:
                df = df.where(col("t") >= t0).withColumn("source", lit(name))
                every = df if every is None else every.union(df)
        if every is not None:
            limits = [F.min(F.struct("t", "i")).alias("first"), F.max("t").alias("last"), F.count("t").alias("rows")]
            for name, first, last, rows in every.groupBy("source").agg(*limits).collect():
                self._times[name, t0] = Times(BatchId(Instant(first.t), first.i), Instant(last), rows)
        return [self._times[s.name, t0] for s in sources]

    def first_batches(self, sources: Sequence[Source], t0: Instant) -> list[BatchId]:
        """The first batch from t0 on of each source that has one; the data are asked only where it is not known."""
        known = [
            s
            for s in sources
            if self.firsts.get(s.name, t0 - 1) >= t0 and not (isinstance(s, StreamSource) and s.batch_by is not None)
        ]
        asked = self.times([s for s in sources if s not in known], t0)
        return [BatchId(self.firsts[s.name], 0) for s in known] + [t.first for t in asked if t.first is not None]

    def layout(self, source: StreamSource, place: int) -> Layout:
        """How the values of an attribute that is a DOUBLE are cut for exact sums."""
        key = (source.name, place)
        if key not in self.layouts:
            self.layouts[key] = self.range(source, place).layout
        return self.layouts[key]

    def range(self, source: StreamSource, place: int) -> Range:
        """What is known of the values of such an attribute."""
        key = (source.name, place)
        if key not in self.ranges:
            self.ranges[key] = double_range(self.frame(source), col(f"c{place}"))
        return self.ranges[key]

    def _moments(self, source: Source) -> DataFrame | None:
        """The batch identifiers of a source's rows; None for a relation that does not change."""
        if not isinstance(source, RelationSource):
            stream = self.stream(source)
            return stream.df.select("t", stream.batch.index.alias("i"))
        names = [n for n in (source.valid_from, source.valid_to, source.at) if n is not None]
        zero = long(0).alias("i")
        if not names:
            return None
        df = self.frame(source)
        moments = F.array(*(moment(source, n) for n in names))
        return df.select(F.explode(moments).alias("t"), zero).where(col("t").isNotNull())


def failing(condition: Column, message: Column | str, value: Column) -> Column:
    """The value, or an error where the condition is true: bad data stop a run, they are never passed over."""
    text = lit(message) if isinstance(message, str) else message
    return F.when(condition, F.raise_error(text).cast("bigint")).otherwise(value)


def required(value: Column, message: str) -> Column:
    """A BIGINT, or an error where it is NULL."""
    return F.coalesce(value, F.raise_error(lit(message)).cast("bigint"))


def moment(source: StreamSource | RelationSource, name: str) -> Column:
    """A timestamp attribute in microseconds; a number counts its unit, rounded to microseconds if it is a DOUBLE."""
    k = source.declared.index(name)
    attribute, value = source.declared[name], col(f"c{k}")
    if source.unit is None:
        return F.unix_micros(value)
    per = UNITS[source.unit]
    what = f"{'stream' if isinstance(source, StreamSource) else 'relation'} {source.name}"
    if attribute.type.name == "DOUBLE":
        # Whole seconds and the rest apart: both are exact, so that only the last step rounds.
        not_a_time = F.isnan(value) | (F.abs(value) * per > float(MAX_INSTANT))
        whole = F.floor(F.when(not_a_time, lit(0.0)).otherwise(value))
        micros = whole * per + F.floor((value - whole.cast("double")) * per + 0.5)
        checked = failing(not_a_time, F.concat(lit(f"{what}: "), value.cast("string"), lit(" is not a time")), micros)
    elif attribute.type.name == "DECIMAL":
        exact = value * lit(per)
        checked = failing(
            exact != F.floor(exact),
            F.concat(
                lit(f"{what}: "),
                value.cast("string"),
                lit(f" {source.unit.lower()} are not a whole number of microseconds"),
            ),
            exact.cast("bigint"),
        )
    else:
        checked = value.cast("bigint") * lit(per)
    outside = (checked < MIN_INSTANT) | (checked > MAX_INSTANT)
    return failing(outside, f"{what}: a time in {name!r} is out of range", checked)


def stamp_problem(source: StreamSource | RelationSource) -> Column:
    """What keeps a row with the attributes c0, c1, … from having its place in time; NULL where nothing does."""
    found: list[tuple[Column, str | Column]] = []
    name = source.timestamp if isinstance(source, StreamSource) else source.at
    if name is not None:
        value = col(f"c{source.declared.index(name)}")
        found.append((value.isNull(), f"it has no {name!r}, so no timestamp"))
        if source.unit is not None:
            number = value.cast("double")
            per = UNITS[source.unit]
            limits = (lit(MIN_INSTANT / per), lit(MAX_INSTANT / per))
            wrong = F.isnan(number) | (number < limits[0]) | (number > limits[1])
            if source.declared[name].type.name == "DECIMAL":
                wrong = wrong | (value * lit(per) != F.floor(value * lit(per)))
            found.append((wrong, F.concat(value.cast("string"), lit(f" in {name!r} is not a time"))))
    if isinstance(source, StreamSource) and source.batch_by is not None:
        index = col(f"c{source.declared.index(source.batch_by)}")
        found.append((index.isNull() | (index < 0), f"its batch index {source.batch_by!r} is not 0, 1, 2, …"))
    if isinstance(source, RelationSource) and source.change is not None:
        change = col(f"c{source.declared.index(source.change)}")
        known = change.isNotNull() if source.declared[source.change].type == BOOLEAN else change.isin("+", "-")
        found.append((~F.coalesce(known, lit(False)), f"its change in {source.change!r} is neither '+' nor '-'"))
    problem = lit(None).cast("string")
    for condition, text in reversed(found):
        problem = F.when(condition, lit(text) if isinstance(text, str) else text).otherwise(problem)
    return problem


def _received(source: StreamSource | SensedSource, df: DataFrame) -> StreamFrame:
    schema = source.declared
    if isinstance(source, SensedSource) or source.timestamp is None:
        if "_t" not in df.columns:
            raise DataError(
                f"the stream {source.name} has no timestamp of its own",
                hint="declare which attribute holds the time, or give a DataFrame with the columns _t and _i",
            )
        stamp = [col("_t").cast("bigint").alias("t")]
        flat = "_i" not in df.columns
        stamp += [] if flat else [col("_i").cast("bigint").alias("i")]
        if "_n" in df.columns:
            df = df.select(*columns(attributes(schema)), *stamp, col("_n").cast("bigint").alias("o0"))
            return StreamFrame(df, schema, ("o0",), flat)
        return StreamFrame(df.select(*columns(attributes(schema)), *stamp), schema, tuple(attributes(schema)), flat)
    t = moment(source, source.timestamp)
    missing = f"a row of stream {source.name} has no {source.timestamp!r}, so no timestamp"
    order = tuple(f"c{schema.index(n)}" for n in source.position_by)
    order = tuple(dict.fromkeys([*order, *attributes(schema)]))
    arrival = []
    if "_n" in df.columns and not source.position_by:
        # A source that has an order of its own, as a log has.
        arrival, order = [col("_n").cast("bigint").alias("o0")], ("o0", *order)
    df = df.select(*columns(attributes(schema)), *arrival, required(t, missing).alias("t"))
    if source.batch_by is not None:
        i = col(f"c{schema.index(source.batch_by)}").cast("bigint")
        wrong = f"stream {source.name}: a batch index in {source.batch_by!r} is not 0, 1, 2, …"
        df = df.withColumn("i", failing(i.isNull() | (i < 0), wrong, i))
    elif source.batch_each_row:
        window = Window.partitionBy("t").orderBy(*columns(order))
        df = df.withColumn("i", F.row_number().over(window).cast("bigint") - 1)
    return StreamFrame(df, schema, order, flat=source.batch_by is None and not source.batch_each_row)


# Relations


def relation(
    source: RelationSource, df: DataFrame, memory: Memory | None = None, edge: str = "", until: Instant | None = None
) -> RelationFrame:
    """A base relation: POSITION BY, all values, and a number that tells equal rows apart are its φ.

    With a memory a log has the changes of one epoch, up to `until`; of those before, the rows that still hold are kept.
    """
    if source.validity is Validity.CHANGES:
        return _replayed(source, df, memory, edge, until)
    schema = source.schema
    by = [f"c{schema.index(n)}" for n in source.position_by]
    order = list(dict.fromkeys([*by, *attributes(schema)]))
    start, end = lit(ALWAYS), lit(NEVER)
    if source.valid_from is not None:
        since = moment(source, source.valid_from)
        start = required(since, f"a row of relation {source.name} has no {source.valid_from!r}")
        if source.valid_to is not None:
            until = moment(source, source.valid_to)
            early = f"relation {source.name}: a row is valid to a time before it is valid from"
            end = failing(until < start, early, F.coalesce(until, lit(NEVER)))
    copies = Window.partitionBy(*columns(order)).orderBy(lit(0))
    df = df.select(
        *columns(attributes(schema)),
        (F.row_number().over(copies) - 1).cast("bigint").alias("o0"),
        start.cast("bigint").alias("ft"),
        end.cast("bigint").alias("tt"),
    ).where(col("ft") < col("tt"))
    phi, made = relabelled(tuple(Key(c) for c in [*order, "o0"]))
    df = df.select(*columns(attributes(schema)), *made, "ft", "tt")
    return RelationFrame(df, schema, phi, flat=True, endless=source.valid_to is None)


def _log(source: RelationSource, df: DataFrame) -> tuple[DataFrame, Schema]:
    """The log's rows as kept attributes k0, k1, …, the sign, the time, and the order of the changes."""
    assert source.change is not None
    assert source.at is not None
    change = col(f"c{source.declared.index(source.change)}")
    is_plus = change if source.declared[source.change].type == BOOLEAN else change == "+"
    is_minus = ~change if source.declared[source.change].type == BOOLEAN else change == "-"
    neither = f"relation {source.name}: a change in {source.change!r} is neither '+' nor '-'"
    sign = failing(~F.coalesce(is_plus | is_minus, lit(False)), neither, F.when(is_plus, 1).otherwise(0))
    t = moment(source, source.at)
    kept = [col(f"c{source.declared.index(n)}").alias(f"k{k}") for k, n in enumerate(source.schema.names)]
    by = [col(f"c{source.declared.index(n)}").alias(f"b{k}") for k, n in enumerate(source.position_by)]
    missing = f"a row of relation {source.name} has no {source.at!r}"
    df = df.select(*kept, *by, sign.cast("int").alias("plus"), required(t, missing).cast("bigint").alias("t"))
    return df, source.schema


def _replayed(
    source: RelationSource, df: DataFrame, memory: Memory | None, edge: str, until: Instant | None
) -> RelationFrame:
    """A change log: each '+' holds until a '-' takes it out, or with a key until the next change of that key."""
    log, schema = _log(source, df)
    kept = [f"k{k}" for k in range(len(schema))]
    by = [f"b{k}" for k in range(len(source.position_by))]
    replay = ["t", *by, "plus", *kept]
    place = [*by, *kept]
    if memory is not None:
        log = memory.grow(edge, log)
    if "h0" not in log.columns:
        log = log.withColumns({f"h{k}": lit(None).cast(log.schema[c].dataType) for k, c in enumerate(place)})
        log = log.withColumn(f"h{len(place)}", lit(None).cast("bigint"))
    versions = _keyed(source, log, replay) if source.key else _told_apart(_unkeyed(log, kept, replay), place)
    if memory is not None:
        assert until is not None
        still = versions.where((col("ft") < col("tt")) & (col("tt") > until))
        path_ = [col(f"p{k}").alias(f"h{k}") for k in range(len(place) + 1)]
        rows = [*columns(kept), *columns(by), lit(1).cast("int").alias("plus"), col("ft").alias("t"), *path_]
        memory.trim(edge, lambda: still.select(*rows))
    made = [col(f"p{k}") for k in range(len(place) + 1)]
    attributes_ = [col(k).alias(f"c{j}") for j, k in enumerate(kept)]
    held = versions.where(col("ft") < col("tt")).select(*attributes_, *made, "ft", "tt")
    phi: Phi = tuple(Key(f"p{k}") for k in range(len(place) + 1))
    # A key whose row is replaced by an equal one keeps the same tuple.
    return RelationFrame(held, schema, phi, flat=True, coalesced=not source.key, one_row_per_phi=not source.key)


def _unkeyed(log: DataFrame, kept: Sequence[str], replay: Sequence[str]) -> DataFrame:
    """The m-th '-' that finds a row takes out the m-th '+' of equal values.

    A '-' finds nothing where the balance of changes falls to a new low below 0.
    """
    window = Window.partitionBy(*columns(kept)).orderBy(*columns(replay))
    upto = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = window.rowsBetween(Window.unboundedPreceding, -1)
    df = log.withColumn("balance", F.sum(col("plus") * 2 - 1).over(upto))
    lowest = F.least(F.coalesce(F.min("balance").over(before), lit(0)), lit(0))
    df = df.withColumn("finds", (col("plus") == 0) & (col("balance") >= lowest))
    place = [c for c in replay if c not in ("t", "plus")]
    turn = Window.partitionBy(*columns(kept), "role").orderBy(*columns(replay))
    role = F.when(col("plus") == 1, 1).when(col("finds"), 0)
    df = df.withColumn("role", role).where(col("role").isNotNull()).withColumn("turn", F.row_number().over(turn))
    pair = Window.partitionBy(*columns(kept), "turn")
    df = df.withColumn("end", F.min(F.when(col("role") == 0, col("t"))).over(pair)).where(col("role") == 1)
    number = col(f"h{len(place)}").alias("number")
    held = df.select(*columns(place), number, col("t").alias("ft"), F.coalesce("end", lit(NEVER)).alias("tt"))
    return held.where(col("ft") < col("tt"))


def _told_apart(df: DataFrame, place: Sequence[str]) -> DataFrame:
    """The φ of rows of a log: equal ones get numbers in the order in which they come and go; it begins anew at 0 where
    none of them was there just before. Rows that were kept have the number that they had."""
    before = Window.partitionBy(*columns(place)).orderBy("ft").rangeBetween(Window.unboundedPreceding, -1)
    upto = Window.partitionBy(*columns(place)).orderBy("ft").rangeBetween(Window.unboundedPreceding, 0)
    begins = F.coalesce(F.max("tt").over(before) < col("ft"), lit(True))
    df = df.withColumn("begins", F.when(begins, col("ft"))).withColumn("chain", F.max("begins").over(upto))
    chain = Window.partitionBy(*columns(place), "chain")
    new = Window.partitionBy(*columns(place), "chain", col("number").isNull()).orderBy("ft", "tt")
    after = F.coalesce(F.max("number").over(chain), lit(-1)) + F.row_number().over(new)
    made = [*columns(place), F.coalesce(col("number"), after.cast("bigint"))]
    phi = [c.alias(f"p{k}") for k, c in enumerate(made)]
    return df.select(*columns(place), *phi, "ft", "tt")


def _keyed(source: RelationSource, log: DataFrame, replay: Sequence[str]) -> DataFrame:
    """A '+' replaces the row of its key, and keeps that row's φ if there was one before its timestamp."""
    key = [f"k{source.schema.index(n)}" for n in source.key]
    window = Window.partitionBy(*columns(key)).orderBy(*columns(replay))
    place = [c for c in replay if c not in ("t", "plus")]
    df = log.withColumn("next_t", F.lead("t").over(window))
    # Only the last change of a key at a timestamp counts: what comes before it holds for no time at all.
    last = df.where(col("next_t").isNull() | (col("next_t") > col("t")))
    begins = F.when(F.coalesce(F.lag("plus").over(window), lit(0)) == 0, 1).otherwise(0)
    last = last.withColumn("begins", begins)
    upto = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    last = last.withColumn("chain", F.sum("begins").over(upto))
    chain = Window.partitionBy(*columns(key), "chain").orderBy(*columns(replay))
    whole = chain.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # Rows that were kept have the φ that they had. A key has one row at a time: there is nothing to tell apart.
    was_kept = col(f"h{len(place)}").isNotNull()
    first = [F.when(was_kept, col(f"h{k}")).otherwise(col(c)) for k, c in enumerate(place)]
    made = [F.first(c).over(whole).alias(f"p{k}") for k, c in enumerate(first)] + [long(0).alias(f"p{len(place)}")]
    return last.select(
        *columns(place), "plus", *made, col("t").alias("ft"), F.coalesce("next_t", lit(NEVER)).alias("tt")
    ).where(col("plus") == 1)
