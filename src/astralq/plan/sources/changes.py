"""Change logs: from '+' and '-' to rows that hold for a while.

All changes of one timestamp act together at (t, 0): in the order of POSITION BY where it is given, else as bags, in
which equal '+' and '-' cancel first. Rows are equal on all attributes but those of POSITION BY. A '-' that finds
nothing changes nothing, and is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from astralq.algebra.sources import RelationSource
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, columns, lit, long
from astralq.plan.encoding.batches import NEVER
from astralq.plan.encoding.tables import Key, Phi, RelationTable
from astralq.plan.sources.stamps import failing, moment, required
from astralq.plan.state.store import StateTables
from astralq.plan.table import Table
from astralq.schema import BOOLEAN
from astralq.timeline import Instant


@dataclass(frozen=True)
class Log:
    """The columns of a log: attributes k0, k1, …, POSITION BY as b0, b1, …, the sign `plus` and the time t.

    Rows that an epoch before kept have the φ that they had, as h0, h1, …
    """

    source: RelationSource

    @property
    def values(self) -> list[str]:
        return [f"k{k}" for k in range(len(self.source.schema))]

    @property
    def position(self) -> list[str]:
        return [f"b{k}" for k in range(len(self.source.position_by))]

    @property
    def compared(self) -> list[str]:
        """What two equal rows have in common: their key, or all attributes but those of POSITION BY."""
        schema = self.source.schema
        if self.source.key:
            return [f"k{schema.index(n)}" for n in self.source.key]
        order = {n.lower() for n in self.source.position_by}
        return [f"k{k}" for k, n in enumerate(schema.names) if n.lower() not in order]

    @property
    def replay(self) -> list[str]:
        """The order in which changes act."""
        return ["t", *self.position, "plus", *self.values]

    @property
    def place(self) -> list[str]:
        """The order of the relation's rows."""
        return [*self.position, *self.values]

    def rows(self, scanned: Table) -> Table:
        """The rows of the log, from those of the source."""
        source = self.source
        assert source.change is not None
        assert source.at is not None
        change = col(f"c{source.declared.index(source.change)}")
        is_boolean = source.declared[source.change].type == BOOLEAN
        is_plus = change if is_boolean else change == "+"
        is_minus = ~change if is_boolean else change == "-"
        neither = f"relation {source.name}: a change in {source.change!r} is neither '+' nor '-'"
        sign = failing(~F.coalesce(is_plus | is_minus, lit(False)), neither, F.when(is_plus, 1).otherwise(0))
        values = [
            col(f"c{source.declared.index(n)}").alias(k) for k, n in zip(self.values, source.schema.names, strict=True)
        ]
        by = [
            col(f"c{source.declared.index(n)}").alias(b) for b, n in zip(self.position, source.position_by, strict=True)
        ]
        t = required(moment(source, source.at), f"a row of relation {source.name} has no {source.at!r}")
        return scanned.select(*values, *by, sign.cast("int").alias("plus"), t.cast("bigint").alias("t"))


def replayed(
    source: RelationSource,
    scanned: Table,
    state: StateTables | None,
    name: str,
    since: Instant | None,
    until: Instant | None,
) -> RelationTable:
    """The relation of a change log.

    In an epoch the log has the changes of the half-open interval (since, until]; of those before, the rows that still
    hold are kept.
    """
    log = Log(source)
    rows = log.rows(scanned)
    if state is not None:
        rows = state.append(name, rows)
    marked = _marked(log, rows).where(~col("cancelled"))
    versions = _keyed(log, marked) if source.key else _told_apart(_unkeyed(log, marked), log.place)
    if state is not None:
        assert until is not None
        still = versions.where((col("ft") < col("tt")) & (col("tt") > until))
        path_ = [col(f"p{k}").alias(f"h{k}") for k in range(len(log.place) + 1)]
        kept = [*columns(log.place), lit(1).cast("int").alias("plus"), col("ft").alias("t"), *path_]
        state.compact(name, still.select(*kept))
        new = marked if since is None else marked.where(col("t") > since)
        state.set_aside(source.name, _as_declared(log, new.where(~col("finds"))))
    path = [col(f"p{k}") for k in range(len(log.place) + 1)]
    attributes = [col(k).alias(f"c{j}") for j, k in enumerate(log.values)]
    held = versions.where(col("ft") < col("tt")).select(*attributes, *path, "ft", "tt")
    phi: Phi = tuple(Key(f"p{k}") for k in range(len(log.place) + 1))
    # A key whose row is replaced by an equal one keeps the same tuple.
    return RelationTable(
        held, source.schema, phi, one_batch=True, coalesced=not source.key, one_row_per_phi=not source.key
    )


def moments(source: RelationSource, rows: Table) -> Table:
    """The timestamps of a log's changes, and with each whether it is a '-' that finds nothing."""
    log = Log(source)
    # What cancels with an equal change of its timestamp is a change all the same.
    return _marked(log, log.rows(rows)).select("t", (~col("finds")).alias("unmatched"))


def _as_declared(log: Log, rows: Table) -> Table:
    """Changes as a person reads them: t, and the attributes under their names."""
    names = log.source.schema.names
    named = [col(k).alias(n) for k, n in zip(log.values, names, strict=True)]
    stamp = "t" if "t" not in {n.lower() for n in names} else "_t"
    return rows.select(F.timestamp_micros("t").alias(stamp), *named)


def _marked(log: Log, rows: Table) -> Table:
    """The changes, each with `cancelled`, and with `finds`: whether it is no '-' that finds nothing."""
    if "h0" not in rows.columns:
        rows = rows.with_columns({f"h{k}": lit(None) for k in range(len(log.place))})
        rows = rows.with_column(f"h{len(log.place)}", long(None))
    rows = rows.with_column("cancelled", lit(False) if log.position else _is_cancelled(log))
    window = Window.partition_by(*columns(log.compared), "cancelled").order_by(*columns(log.replay))
    if log.source.key:
        # A key has one row at most, which the first '-' takes out.
        there = F.coalesce(F.lag("plus").over(window), lit(0)) == 1
        return rows.with_column("finds", col("cancelled") | (col("plus") == 1) | there)
    # A '-' finds nothing where the balance of changes falls to a new low below 0.
    upto = window.rows(None, 0)
    before = window.rows(None, -1)
    rows = rows.with_column("balance", F.sum(col("plus") * 2 - 1).over(upto))
    lowest = F.least(F.coalesce(F.min("balance").over(before), lit(0)), lit(0))
    finds = col("cancelled") | (col("plus") == 1) | (col("balance") >= lowest)
    return rows.with_column("finds", finds).drop("balance")


def _is_cancelled(log: Log) -> Column:
    """Whether a change has a partner, an equal one of the same timestamp with the other sign: both have no effect."""
    same = [*columns(log.values), col("t")]
    both = Window.partition_by(*same)
    pairs = F.least(F.sum("plus").over(both), F.sum(lit(1) - col("plus")).over(both))
    return F.row_number().over(Window.partition_by(*same, col("plus")).order_by(lit(0))) <= pairs


def _unkeyed(log: Log, marked: Table) -> Table:
    """The m-th '-' that finds a row takes out the m-th '+' of equal rows, the oldest that is there."""
    turn = Window.partition_by(*columns(log.compared), "plus").order_by(*columns(log.replay))
    rows = marked.where(col("finds")).with_column("turn", F.row_number().over(turn))
    pair = Window.partition_by(*columns(log.compared), "turn")
    rows = rows.with_column("ended", F.min(F.when(col("plus") == 0, col("t"))).over(pair)).where(col("plus") == 1)
    number = col(f"h{len(log.place)}").alias("number")
    held = rows.select(*columns(log.place), number, col("t").alias("ft"), F.coalesce("ended", lit(NEVER)).alias("tt"))
    return held.where(col("ft") < col("tt"))


def _told_apart(rows: Table, place: Sequence[str]) -> Table:
    """The φ of rows of a log: equal ones get numbers in the order in which they come and go; it begins anew at 0 where
    none of them was there just before. Rows that were kept have the number that they had."""
    before = Window.partition_by(*columns(place)).order_by("ft").range(None, -1)
    upto = Window.partition_by(*columns(place)).order_by("ft").range(None, 0)
    begins = F.coalesce(F.max("tt").over(before) < col("ft"), lit(True))
    rows = rows.with_column("begins", F.when(begins, col("ft"))).with_column("chain", F.max("begins").over(upto))
    chain = Window.partition_by(*columns(place), "chain")
    new = Window.partition_by(*columns(place), "chain", col("number").is_null()).order_by("ft", "tt")
    after = F.coalesce(F.max("number").over(chain), lit(-1)) + F.row_number().over(new)
    made = [*columns(place), F.coalesce(col("number"), after.cast("bigint"))]
    phi = [c.alias(f"p{k}") for k, c in enumerate(made)]
    return rows.select(*columns(place), *phi, "ft", "tt")


def _keyed(log: Log, marked: Table) -> Table:
    """A '+' replaces the row of its key, and keeps that row's φ if there was one before its timestamp."""
    key, place = columns(log.compared), log.place
    window = Window.partition_by(*key).order_by(*columns(log.replay))
    rows = marked.with_column("next_t", F.lead("t").over(window))
    # Only the last change of a key at a timestamp counts: what comes before it holds for no time at all.
    last = rows.where(col("next_t").is_null() | (col("next_t") > col("t")))
    begins = F.when(F.coalesce(F.lag("plus").over(window), lit(0)) == 0, 1).otherwise(0)
    last = last.with_column("begins", begins)
    upto = window.rows(None, 0)
    last = last.with_column("chain", F.sum("begins").over(upto))
    chain = Window.partition_by(*key, "chain").order_by(*columns(log.replay))
    whole = chain.rows(None, 0)
    # Rows that were kept have the φ that they had. A key has one row at a time: there is nothing to tell apart.
    was_kept = col(f"h{len(place)}").is_not_null()
    first = [F.when(was_kept, col(f"h{k}")).otherwise(col(c)) for k, c in enumerate(place)]
    made = [F.first(c).over(whole).alias(f"p{k}") for k, c in enumerate(first)] + [long(0).alias(f"p{len(place)}")]
    return last.select(
        *columns(place), "plus", *made, col("t").alias("ft"), F.coalesce("next_t", lit(NEVER)).alias("tt")
    ).where(col("plus") == 1)
