"""A picture of what benchmarks took: seconds against rows, and against how many windows hold a tuple.

scripts/bench picture FILE.json … --picture FILE.svg, from what `scripts/bench --rows N --json FILE.json` wrote
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

Result = Mapping[str, Any]
"""A result as the table has it: workload, case, rows, ours_s, peer_s."""


def by_rows(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Of each case that was run over several numbers of rows its results, the shortest first.

    >>> one = {"workload": "W1", "case": "any", "rows": 10}
    >>> list(by_rows([one, {**one, "rows": 20}, {**one, "case": "sorted"}]))
    ['W1/any']
    """
    found: dict[str, dict[int, Result]] = {}
    for r in results:
        found.setdefault(f"{r['workload']}/{r['case']}", {})[r["rows"]] = r
    return {name: [of[n] for n in sorted(of)] for name, of in found.items() if len(of) > 1}


def by_overlap(results: Sequence[Result]) -> list[tuple[int, Result]]:
    """W2 over so many rows as it was run with most often, or the most of these: size ÷ slide, and the result.

    >>> run = [(10, "60/10"), (10, "10/10"), (20, "9/9")]
    >>> [o for o, _ in by_overlap([{"workload": "W2", "rows": n, "case": case} for n, case in run])]
    [1, 6]
    """
    hops = [r for r in results if r["workload"] == "W2"]
    times = Counter(r["rows"] for r in hops)
    chosen = max(times, key=lambda rows: (times[rows], rows), default=0)
    sizes = [(tuple(map(int, r["case"].split("/"))), r) for r in hops if r["rows"] == chosen]
    return sorted(((size // slide, r) for (size, slide), r in sizes), key=lambda pair: pair[0])


def drawn(results: Sequence[Result]) -> Figure:
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    rows, overlap = figure.subplots(1, 2)
    for k, (name, found) in enumerate(by_rows(results).items()):
        sizes = [r["rows"] for r in found]
        rows.plot(sizes, [r["ours_s"] for r in found], marker="o", color=f"C{k}", label=name)
        rows.plot(sizes, [r["peer_s"] for r in found], marker="o", color=f"C{k}", linestyle=":", fillstyle="none")
    rows.set_xlabel("rows (dotted: the peer)")
    hops = by_overlap(results)
    places = [o for o, _ in hops]
    overlap.plot(places, [r["ours_s"] for _, r in hops], marker="o", label="astralq")
    overlap.plot(places, [r["peer_s"] for _, r in hops], marker="o", linestyle=":", label="Spark's window()")
    overlap.set_xlabel("windows that hold a tuple (W2)")
    for axes in (rows, overlap):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylabel("seconds")
        axes.grid(visible=True, color="0.9")
        axes.legend(fontsize="small")
    return figure


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench picture", description="Draws what benchmarks took.")
    parser.add_argument("results", nargs="+", type=Path, metavar="FILE.json")
    parser.add_argument("--picture", type=Path, required=True, metavar="FILE.svg")
    asked = parser.parse_args(given)
    drawn([r for path in asked.results for r in json.loads(path.read_text())]).savefig(asked.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
