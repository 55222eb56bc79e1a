"""Buckets of time for interval joins: pairs meet in buckets, so that no row is compared with all others.

Where it is known for how long the rows of both sides hold, all buckets have one size. Else there is one for each
magnitude of interval: a row is in the buckets that it covers on its own level, at most two, and on all coarser ones. A
pair meets on the coarser of its two levels, in the bucket of its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, lit
from astralq.plan.encoding.tables import RelationTable
from astralq.plan.table import Table
from astralq.plan.windows.arithmetic import quotient_down

_STEP = 8
"""How much finer each level of buckets is than the one before."""

_WIDER = 4
"""How many times as long as rows hold buckets are, where keys tell rows apart besides."""

KEYLESS = 32
"""Into how many buckets the coarsest level is cut where no key distributes the rows."""


@dataclass(frozen=True)
class Levels:
    """Bucket widths from coarse to fine over the time of a run."""

    first: int
    span: int
    coarsest: int  # how many buckets level 0 has

    @property
    def widths(self) -> list[int]:
        widths = [max(1, self.span)]
        while widths[-1] > 1 and len(widths) < 8:
            widths.append(max(1, widths[-1] // _STEP))
        return widths

    def buckets(self, level: int) -> tuple[int, int]:
        """The width and the number of buckets of a level."""
        width = self.widths[level] if level else max(1, -(-self.span // self.coarsest))
        return width, -(-self.span // width)

    def bucket(self, t: Column, level: int) -> Column:
        """The bucket of an instant; those outside the run are in the first and the last one."""
        width, count = self.buckets(level)
        inside = F.greatest(F.least(t, lit(self.first + self.span - 1)), lit(self.first))
        place = F.floor((inside - lit(self.first)) / lit(width))
        return F.least(place, lit(count - 1)).cast("bigint")

    def own(self, start: Column, end: Column) -> Column:
        """The level of an interval: the finest whose buckets are not shorter than it."""
        low, high = lit(self.first), lit(self.first + self.span)
        length = F.greatest(F.least(end, high) - F.greatest(start, low), lit(0))
        own = lit(0)
        for level in range(1, len(self.widths)):
            own = F.when(length <= self.widths[level], lit(level)).otherwise(own)
        return own

    def possible(self, relation: RelationTable) -> set[int]:
        """The levels that rows of a relation can have, as far as is known."""
        if relation.append_only:
            # A row that has just come may be short still: its end is cut off at the end of the run.
            return set(range(len(self.widths)))
        if relation.lifetime is not None:
            fits = [k for k, w in enumerate(self.widths) if w >= relation.lifetime]
            longest = max(fits, default=0)
            return set(range(longest, len(self.widths)))
        return set(range(len(self.widths)))

    def with_buckets(self, relation: RelationTable, needed: Sequence[int], prefix: str) -> Table:
        """Each row once for each of the needed levels and buckets that it is in, its columns under a prefix."""
        placed = relation.rows.with_column("_own", self.own(col("ft"), _last_instant(relation) + 1))
        placed = placed.with_column("_place", F.explode(F.array_compact(self._places(relation, needed, prefix))))
        return placed.select(
            *(col(c).alias(f"{prefix}{c}") for c in relation.rows.columns),
            col("_place.place").alias(f"{prefix}place"),
            F.explode(F.sequence("_place.low", "_place.high")).alias(f"{prefix}bucket"),
        )

    def _places(self, relation: RelationTable, needed: Sequence[int], prefix: str) -> Column:
        """The places of a row, each a level with a role, and the first and last bucket that it covers there.

        On its own level a row is at home, on coarser ones a guest, and two guests never meet: by the role, left rows
        at home (0) meet all right ones, left guests (1) only right rows at home.
        """
        own, places = col("_own"), []
        for level in needed:
            low, high = self.bucket(col("ft"), level), self.bucket(_last_instant(relation), level)
            roles = (own == level, own > level) if prefix == "l_" else (own >= level, own == level)
            for role, has_it in enumerate(roles):
                place = F.struct(lit(2 * level + role).alias("place"), low.alias("low"), high.alias("high"))
                places.append(F.when(has_it, place))
        return F.array(*places)


@dataclass(frozen=True)
class Even:
    """Buckets of one width, for rows that hold for no longer than known times: each is in one or two of them."""

    width: int

    @staticmethod
    def of(left: RelationTable, right: RelationTable, span: int, *, keyed: bool) -> Even | None:
        """Wider than a row holds, so that most are in one bucket; None if it is not known for how long rows hold, or
        if there would be too few buckets to share the work."""
        if left.longest is None or right.longest is None:
            return None
        width = max(left.longest, right.longest, 1) * (_WIDER if keyed else 1)
        return Even(width) if keyed or span // width >= KEYLESS else None

    def bucket(self, t: Column) -> Column:
        return quotient_down(t, self.width)

    def with_buckets(self, relation: RelationTable, prefix: str) -> Table:
        """Each row once for each bucket that it is in, its columns under a prefix."""
        covered = F.sequence(self.bucket(col("ft")), self.bucket(_last_instant(relation)))
        return relation.rows.select(
            *(col(c).alias(f"{prefix}{c}") for c in relation.rows.columns), F.explode(covered).alias(f"{prefix}bucket")
        )


def _last_instant(relation: RelationTable) -> Column:
    """The last instant at which a row holds."""
    if relation.one_batch:
        return col("tt") - 1
    return F.when(col("ti") > 0, col("tt")).otherwise(col("tt") - 1)
