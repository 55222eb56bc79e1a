"""Timestamps of a source's rows: from attributes to microseconds, and what keeps a row from having one."""

from __future__ import annotations

from astralq.algebra.sources import UNITS, RelationSource, StreamSource
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, lit
from astralq.schema import BOOLEAN
from astralq.timeline import MAX_INSTANT, MIN_INSTANT

CHANGED = "the rows of a source have changed since it was given to the engine; give it again"
"""What is learnt of a source that an engine keeps is learnt once; a plan fails where it does not hold any more."""


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
    problems: list[tuple[Column, str | Column]] = []
    name = source.timestamp if isinstance(source, StreamSource) else source.at
    if name is not None:
        value = col(f"c{source.declared.index(name)}")
        lacks = source.lacks_timestamp if isinstance(source, StreamSource) else f"has no {name!r}, so no timestamp"
        problems.append((value.is_null(), f"it {lacks}"))
        if source.unit is not None:
            number = value.cast("double")
            per = UNITS[source.unit]
            limits = (lit(MIN_INSTANT / per), lit(MAX_INSTANT / per))
            wrong = F.isnan(number) | (number < limits[0]) | (number > limits[1])
            if source.declared[name].type.name == "DECIMAL":
                wrong = wrong | (value * lit(per) != F.floor(value * lit(per)))
            problems.append((wrong, F.concat(value.cast("string"), lit(f" in {name!r} is not a time"))))
    if isinstance(source, StreamSource) and source.batch_by is not None:
        index = col(f"c{source.declared.index(source.batch_by)}")
        problems.append((index.is_null() | (index < 0), f"its batch index {source.batch_by!r} is not 0, 1, 2, …"))
    if isinstance(source, RelationSource) and source.change is not None:
        change = col(f"c{source.declared.index(source.change)}")
        known = change.is_not_null() if source.declared[source.change].type == BOOLEAN else change.is_in("+", "-")
        problems.append((~F.coalesce(known, lit(False)), f"its change in {source.change!r} is neither '+' nor '-'"))
    problem = lit(None).cast("string")
    for condition, text in reversed(problems):
        problem = F.when(condition, lit(text) if isinstance(text, str) else text).otherwise(problem)
    return problem
