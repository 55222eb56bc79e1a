"""From a user's DataFrames to streams and relations: stamps, batches, φ, and validity intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.sources import RelationSource, SensedSource, StreamSource, Validity
from astralq.errors import DataError, nearest
from astralq.schema import Type
from astralq.spark.aggregate.exact import Layout, Range, double_range
from astralq.spark.encoding.batches import ALWAYS, NEVER
from astralq.spark.encoding.columns import col, lit, long
from astralq.spark.encoding.frames import Key, RelationFrame, StreamFrame, attributes, columns, relabelled
from astralq.spark.sources import changes
from astralq.spark.sources.stamps import failing, moment, required
from astralq.timeline import BatchId, Instant

Source = StreamSource | SensedSource | RelationSource


def spark_type(type_: Type) -> str:
    """The name of a type in Spark's schemas."""
    return {"INTERVAL": "interval day to second", "NULL": "void"}.get(type_.name, str(type_).lower())


@dataclass(frozen=True)
class Times:
    """What the timestamps of a source say of a run: its first batch, its last instant, and how many rows there are.

    Rows before t0 do not count, but they are counted; so are the '-' of a change log that find nothing.
    """

    first: BatchId | None
    last: Instant | None
    rows: int
    before: int = 0
    unmatched: int = 0


FEW_ROWS = 2_000
"""Up to how many rows of all sources together a run is one of few rows: what is sequential takes one task then."""


@dataclass
class Sources:
    """The DataFrames of a query's sources by name; what is learnt of them is learnt once."""

    given: Mapping[str, DataFrame]
    layouts: dict[tuple[str, int], Layout] = field(default_factory=dict)
    ranges: dict[tuple[str, int], Range] = field(default_factory=dict)
    firsts: Mapping[str, Instant] = field(default_factory=dict)  # first timestamps, of whose sources they are known
    few_rows: int = FEW_ROWS
    _few: set[str] = field(default_factory=set)  # sources that are read into one partition
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
        found = df.select(*kept, *(col(f"`{c}`").alias(c.lower()) for c in stamp))
        return found.coalesce(1) if source.name in self._few else found

    def settle(self, times: Mapping[str, Times]) -> None:
        """Reads sources with few rows into one partition: then nothing is shuffled, which would take longer than all
        the rest. Constant relations are not counted, so that they stay as they are."""
        counted = {name: t.rows + t.before for name, t in times.items() if t.rows + t.before}
        if sum(counted.values()) <= self.few_rows and not counted.keys() <= self._few:
            self._few |= counted.keys()
            self._streams.clear()

    def stream(self, source: StreamSource | SensedSource) -> StreamFrame:
        """003's receive: the tuples with their stamps, not numbered yet."""
        if source.name not in self._streams:
            self._streams[source.name] = _received(source, self.frame(source))
        return self._streams[source.name]

    def times(self, sources: Sequence[Source], t0: Instant) -> list[Times]:
        """What the timestamps from t0 on say, of all sources in one pass."""
        asked = {s.name: s for s in sources if (s.name, t0) not in self._times}
        every: DataFrame | None = None
        timed: list[str] = []
        for name, source in asked.items():
            self._times[name, t0] = Times(None, None, 0)
            df = self._moments(source)
            if df is not None:
                df = df.withColumn("source", lit(len(timed)))
                every = df if every is None else every.union(df)
                timed.append(name)
        if every is not None:
            for name, found in zip(timed, _limits(every, len(timed), t0), strict=True):
                self._times[name, t0] = found
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
        usual, zero = lit(False).alias("unmatched"), long(0).alias("i")
        if not isinstance(source, RelationSource):
            stream = self.stream(source)
            return stream.df.select("t", stream.batch.index.alias("i"), usual)
        if source.validity is Validity.CHANGES:
            return changes.moments(source, self.frame(source)).select("t", zero, "unmatched")
        names = [n for n in (source.valid_from, source.valid_to) if n is not None]
        if not names:
            return None
        moments = F.array(*(moment(source, n) for n in names))
        times = self.frame(source).select(F.explode(moments).alias("t"), zero, usual)
        return times.where(col("t").isNotNull())


def _limits(moments: DataFrame, sources: int, t0: Instant) -> list[Times]:
    """What the timestamps of numbered sources say, in one job without a shuffle: they are observed while rows that are
    not there are asked for."""
    metrics = []
    for k in range(sources):
        mine = col("source") == k
        seen, early = mine & (col("t") >= t0), mine & (col("t") < t0)
        metrics += [
            F.min(F.when(seen, F.struct("t", "i"))).alias(f"first{k}"),
            F.max(F.when(seen, col("t"))).alias(f"last{k}"),
            F.count(F.when(seen, 1)).alias(f"rows{k}"),
            F.count(F.when(early, 1)).alias(f"before{k}"),
            F.count(F.when(mine & col("unmatched"), 1)).alias(f"unmatched{k}"),
        ]
    observation = Observation()
    moments.observe(observation, *metrics).where(col("t") > lit(NEVER)).select("t").collect()
    found = observation.get
    return [
        Times(
            None if found[f"first{k}"] is None else BatchId(Instant(found[f"first{k}"][0]), found[f"first{k}"][1]),
            None if found[f"last{k}"] is None else Instant(found[f"last{k}"]),
            found[f"rows{k}"],
            found[f"before{k}"],
            found[f"unmatched{k}"],
        )
        for k in range(sources)
    ]


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


def relation(source: RelationSource, df: DataFrame) -> RelationFrame:
    """A base relation that is no log: POSITION BY, all values, and a number that tells equal rows apart are its φ."""
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
