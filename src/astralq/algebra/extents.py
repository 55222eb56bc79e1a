"""Sources in Python: pushed streams, sensed streams and stored relations (003 §3's three extents)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from astralq.algebra.computed import with_computed
from astralq.algebra.constants import Constants
from astralq.algebra.fluent import Columns, RelationQuery, StreamQuery
from astralq.algebra.relational import Rename
from astralq.algebra.sources import Designation, RelationSource, SensedSource, StreamSource
from astralq.expr.casts import coerce
from astralq.expr.nodes import Literal
from astralq.expr.parse import split_list
from astralq.schema import NULL, Location, Schema, Value, schema
from astralq.timeline import duration


def stream(
    name: str,
    attributes: str | Schema,
    *,
    timestamp: str | None = None,
    position_by: Columns = (),
    batch_by: str | None = None,
    batch_each_row: bool = False,
    location: tuple[str, str] | None = None,
    planar: bool = False,
    computed: Mapping[str, str] | None = None,
) -> StreamQuery:
    """A pushed stream with its attributes; without `timestamp` its tuples are stamped on arrival.

    `timestamp` is an attribute, or an expression of the others; `computed` has further attributes, with expressions.

    >>> from astralq.algebra.windows import range_
    >>> s = stream("S", "sensor INT, value DOUBLE, ts TIMESTAMP", timestamp="ts")
    >>> q = s[range_("30 min", slide="30 min")].where("sensor = 42").aggregate("avg(value) AS mean")
    >>> q.rstream(every="30 min")
    RSTREAM EVERY 30 MINUTES
    └─ AGGREGATE avg(value) AS mean
       └─ SELECT sensor = 42
          └─ WINDOW [RANGE 30 MINUTES SLIDE 30 MINUTES]
             └─ STREAM S
    """
    declared, made, timestamp = with_computed(schema(attributes), computed or {}, timestamp)
    if location is not None:
        declared = declared.with_location(Location(*location, planar))
    by, down = positions_of(position_by)
    return StreamQuery(
        StreamSource(name, declared, timestamp, by, batch_by, batch_each_row, computed=made, descending=down)
    )


def sensed(
    name: str,
    attributes: str | Schema,
    *,
    every: str,
    sites: Iterable[Value] | RelationQuery,
    site: str = "site",
    time: str = "time",
) -> StreamQuery:
    """A pulled stream: each site is measured every period (003's sensed extents); the sites are a list, or those that a
    relation holds at the tick (001 §2.2).

    >>> sensed("road", "site INT, time TIMESTAMP, temp INT", every="1 min", sites=[1, 2, 3, 4])
    SENSED road EVERY 1 MINUTE AT SITES (1, 2, 3, 4)
    """
    designated = Designation(sites.operator) if isinstance(sites, RelationQuery) else None
    listed = () if isinstance(sites, RelationQuery) else tuple(sites)
    source = SensedSource(name, schema(attributes), duration(every), listed, site, time, None, designated)
    return StreamQuery(source)


def relation(
    name: str,
    attributes: str | Schema,
    *,
    valid_from: str | None = None,
    valid_to: str | None = None,
    change: str | None = None,
    at: str | None = None,
    key: Columns = (),
    position_by: Columns = (),
    computed: Mapping[str, str] | None = None,
) -> RelationQuery:
    """A stored relation: constant, versioned in [valid_from, valid_to), or a log of changes (change, at, key).

    `computed` has further attributes, with expressions of those that are stored.

    >>> relation("Buoys", "id INT, since TIMESTAMP, till TIMESTAMP", valid_from="since", valid_to="till").schema.names
    ('id', 'since', 'till')
    """
    by, down = positions_of(position_by)
    declared, made, _ = with_computed(schema(attributes), computed or {}, None)
    source = RelationSource(
        name, declared, valid_from, valid_to, change, at, names_of(key), by, computed=made, descending=down
    )
    return RelationQuery(source)


def values(attributes: str | Schema, *rows: Sequence[Value]) -> RelationQuery:
    """A constant relation that stands in the query itself, in the order of its rows.

    >>> values("x INT, y STRING", (2, "b"), (1, None))
    RENAME col1 AS x, col2 AS y
    └─ VALUES (2, 'b'), (1, NULL)
    """
    declared = schema(attributes)
    given = [declared.check_row(row, "a row of VALUES") for row in rows]
    constants = Constants(
        tuple(
            tuple(
                coerce(Literal(NULL, None), a.type) if value is None else Literal(a.type, value)
                for value, a in zip(row, declared, strict=True)
            )
            for row in given
        )
    )
    return RelationQuery(Rename(constants, tuple(zip(constants.schema.names, declared.names, strict=True))))


def positions_of(columns: Columns) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of POSITION BY, and those that are descending.

    >>> positions_of("a, b DESC")
    (('a', 'b'), ('b',))
    """
    parts = [(n.split(), n) for n in names_of(columns)]
    down = [words[0] for words, _ in parts if len(words) == 2 and words[1].upper() == "DESC"]
    return tuple(words[0] if words[0] in down else whole for words, whole in parts), tuple(down)


def names_of(columns: Columns) -> tuple[str, ...]:
    """Names of attributes: a text with commas, or a list of them."""
    return tuple(split_list(columns)) if isinstance(columns, str) else tuple(columns)
