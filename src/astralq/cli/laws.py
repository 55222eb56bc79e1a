"""`astralq laws`: every rule of the optimizer, tried on random queries against the model."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from astralq.laws.optimize import rules_named
from astralq.laws.rules import RULES
from astralq.laws.trials import Tried, trials


def tried_laws(names: Sequence[str], count: int, seed: int) -> bool:
    """Prints a table of the laws; False if one is unsound, never fires or refuses, or has a needless condition."""
    tried = []
    for rule in rules_named(names) or RULES:
        if sys.stderr.isatty():
            print(f"\r{rule.name:<40}", end="", file=sys.stderr, flush=True)
        tried.append(trials(rule, count, seed))
    if sys.stderr.isatty():
        print(f"\r{'':<40}\r", end="", file=sys.stderr, flush=True)
    _print(tried, count)
    for one in tried:
        for problem in one.problems:
            print(f"astralq: the law {one.rule.name}: {problem}", file=sys.stderr)
    return not any(one.problems for one in tried)


def _print(tried: Sequence[Tried], count: int) -> None:
    """A block for each law: what it says, and for each condition how often it refused and how often that was needed."""
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for one in tried:
        rule = one.rule
        console.print(f"{rule.name} · {rule.papers} · holds {rule.holds.value}", style="bold")
        console.print(f"  {rule.law}")
        console.print(f"  fired in {one.fired:,} of {count:,} queries, {len(one.unsound):,} with another answer")
        table = Table(box=None, padding=(0, 2, 0, 2), show_edge=False)
        for heading, justify in (("only if", "left"), ("refused", "right"), ("forced: another answer", "right")):
            table.add_column(heading, justify=justify)  # type: ignore[arg-type]
        for name in rule.conditions:
            broken = len(one.broken.get(name, ()))
            table.add_row(name, f"{one.refused.get(name, 0):,}", f"{broken:,}")
        console.print(table)
        console.print()
    sound = sum(not one.problems for one in tried)
    what = "1 law" if len(tried) == 1 else f"{len(tried)} laws"
    console.print(f"{what}, {sound} sound with every condition needed")
