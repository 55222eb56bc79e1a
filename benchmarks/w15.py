"""W15: a band join on expressions, against the same with the expressions projected first."""

from __future__ import annotations

from benchmarks.case import Case
from benchmarks.data import END, located


def query(left: str, right: str, cells: str) -> str:
    return f"SELECT a.id AS a, b.id AS b FROM {left} AS a JOIN {right} AS b ON {cells} WITHIN 2 SECONDS"


CELLS = "floor(a.lon * 50) = floor(b.lon * 50) AND floor(a.lat * 50) = floor(b.lat * 50)"
PROJECTED = "(SELECT id, floor(lon * 50) AS x, floor(lat * 50) AS y FROM {})"

CASES = (
    Case(
        workload="W15",
        variant="cells",
        dataset=located("W15"),
        query=query("s", "u", CELLS),
        until=END,
        peer=query(PROJECTED.format("s"), PROJECTED.format("u"), "a.x = b.x AND a.y = b.y"),
        columns={"a": "BIGINT", "b": "BIGINT"},
        others={"u": located("W15u", salt=1)},
        target=1.2,
    ),
)
