"""A plan with several roots: plans that differ in constants only become one, and equal tables are computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from astralq.plan.group_plan import NotAlikeError, group_plan, signature
from astralq.plan.table import Aggregate, Distinct, Index, Join, Materialize, Select, Table, is_at_hand

MOST_ROWS = 20_000_000
"""How many rows one plan for several queries may have, each row once for each query."""

MOST_QUERIES = 250
"""How many queries one plan is for at the most: Spark's own planning takes longer the more constants there are."""


@dataclass(frozen=True)
class Root:
    """One of several answers: a table for itself, or the rows of one query of a group plan."""

    table: Table
    query: int | None = None  # its number in the group plan


def several(answers: Sequence[Table], rows: Sequence[int]) -> list[Root]:
    """The answers of several queries as roots of one plan, in their order; `rows` says how many each reads."""
    roots: list[Root | None] = [None] * len(answers)
    known: dict[int, str] = {}
    alike: dict[str, list[int]] = {}
    for k, table in enumerate(answers):
        alike.setdefault(signature(table, known), []).append(k)
    for members in alike.values():
        for part in _parts(members, answers, rows):
            if len(part) == 1:
                roots[part[0]] = Root(answers[part[0]])
                continue
            try:
                made = group_plan([answers[k] for k in part])
            except NotAlikeError:
                for k in part:
                    roots[k] = Root(answers[k])
                continue
            for place, k in enumerate(part):
                roots[k] = Root(made, place)
    found = [r for r in roots if r is not None]
    common = _computed_once([r.table for r in found])
    rebuilt: dict[int, Table] = {}
    return [Root(_rebuilt(r.table, common, rebuilt), r.query) for r in found]


def _parts(members: Sequence[int], answers: Sequence[Table], rows: Sequence[int]) -> list[list[int]]:
    """Queries of one signature in groups that are not too large."""
    reduced = all(_is_reduced(answers[k]) for k in members)
    most = MOST_QUERIES if reduced else max(1, MOST_ROWS // max(1, *(rows[k] for k in members)))
    size = min(MOST_QUERIES, most)
    return [list(members[k : k + size]) for k in range(0, len(members), size)]


def _is_reduced(table: Table) -> bool:
    """Whether all that is read comes through tables that are computed once, such as panes."""
    if isinstance(table, Materialize):
        return True
    return bool(table.children) and all(_is_reduced(c) for c in table.children)


# Equal tables


def _computed_once(roots: Sequence[Table]) -> set[str]:
    """The digests of tables that more than one root reads, the largest ones, where they cost something."""
    distinct = list({r.digest: r for r in roots}.values())
    uses: Counter[str] = Counter()
    tables: dict[str, Table] = {}
    for root in distinct:
        mine = {t.digest: t for t in root.walk()}
        tables |= mine
        uses.update(mine.keys())
    found: set[str] = set()

    def visit(table: Table, seen: set[str]) -> None:
        if table.digest in seen:
            return
        seen.add(table.digest)
        if uses[table.digest] > 1 and _costs(table):
            found.add(table.digest)
            return
        for child in table.children:
            visit(child, seen)

    for root in distinct:
        visit(root, set())
    return {d for d in found if not is_at_hand(tables[d])}


def _costs(table: Table) -> bool:
    """Whether computing a table twice is more than reading and choosing rows twice."""
    for node in table.walk():
        if isinstance(node, Index | Aggregate | Join | Distinct):
            return True
        if isinstance(node, Select) and any(" OVER (" in text for _, text in node.items):
            return True
    return False


def _rebuilt(table: Table, common: set[str], made: dict[int, Table]) -> Table:
    """The table with those that are computed once materialized."""
    for node in table.walk():
        if id(node) in made:
            continue
        new = node.with_children({id(c): made[id(c)] for c in node.children})
        made[id(node)] = Materialize(new) if node.digest in common else new
    return made[id(table)]
