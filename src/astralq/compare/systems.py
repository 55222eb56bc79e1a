"""The systems whose conventions a query is compared under, and where these come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from astralq.compare.choices import (
    AT_ENDS,
    AT_EVALUATIONS,
    BY_VALUE,
    CLOSED,
    HALF_OPEN,
    NO_EMPTY_ROW,
    ON_EPOCH,
    ON_FIRST,
    OPEN_BELOW,
    Choice,
    chronon,
    every_tick,
)
from astralq.timeline import Duration, duration, format_duration


@dataclass(frozen=True)
class System:
    """A system: the choices in which it differs from Astral, and who says so.

    One with a `dialect` reads the text of a query by itself; its choices only say what a difference is due to.
    """

    name: str
    choices: tuple[Choice, ...]
    source: str
    dialect: str | None = None
    tick: Duration | None = None


ASTRAL = System("astral", (), "000, 001: windows [α, β, r] with closed bounds, from t0 on; a chronon of 1 µs")

SNEEQL = System(
    "sneeql",
    (CLOSED, AT_EVALUATIONS, BY_VALUE),
    "003 §4 and §6: closed scopes, every window is streamed, by value",
    "sneeql",
)

SPARK = System(
    "spark window()",
    (ON_EPOCH, HALF_OPEN, AT_ENDS),
    "Spark's reference of window() and its streaming guide: window starts are inclusive and window ends exclusive, "
    "startTime counts from "
    "1970-01-01; in append mode a window is output once, when the watermark has passed its end",
)

FLINK = System(
    "flink",
    (ON_EPOCH, HALF_OPEN, AT_ENDS, chronon(duration("1 ms"))),
    "Flink's windowing table-valued functions: [window_start, window_end), aligned on the epoch, emitted when the "
    "watermark reaches window_end - 1 ms; timestamps in milliseconds",
)

ESPER = System(
    "esper",
    (ON_FIRST, OPEN_BELOW, AT_EVALUATIONS, chronon(duration("1 ms"))),
    "Esper's reference, data windows: an event leaves #time(x) x after it came; batches and output every y begin with "
    "the first event; the engine's time has milliseconds",
)


def cql(period: Duration) -> System:
    """CQL, as the Stanford STREAM system has it, with ticks of a length."""
    return System(
        f"cql, ticks of {format_duration(period)}",
        (chronon(period), OPEN_BELOW, every_tick(period), BY_VALUE, NO_EMPTY_ROW),
        "Arasu, Babu, Widom: The CQL continuous query language; RANGE x holds (t − x, t] at every tick",
        "cql",
        period,
    )


def systems(chronons: Sequence[Duration]) -> list[System]:
    """All of them, Astral first; CQL once for each chronon."""
    return [ASTRAL, *map(cql, chronons), SNEEQL, SPARK, FLINK, ESPER]
