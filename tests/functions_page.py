"""The pages of docs/functions: for each group of Spark's functions which there are here, and why the others are not."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from astralq.expr import aggregates
from astralq.expr.functions import ALIASES, NOT_SCALAR, REFUSED, TABLE, refusal
from astralq.expr.nodes import AGGREGATES
from astralq.expr.operators import CONVERSIONS
from astralq.expr.spark_aggregates import COMPUTED, REFUSED_AGGREGATES
from astralq.expr.spark_functions import SparkFunction, catalogue
from astralq.language.hints import hint_for_function
from astralq.language.syntax import GENERATORS

MODEL, SPARK, REFUSAL = "model and Spark", "Spark", "refused"

_WRITTEN = {
    **dict.fromkeys(("cast", "between", "when", "in", "and", "or", "not", "!", "extract", "datepart", "struct"), MODEL),
    **dict.fromkeys(("regexp", "if", "div", "=", "<<", ">>", "grouping"), MODEL),
    **dict.fromkeys(("from_json", "from_csv", "map_zip_with", "transform_keys"), SPARK),
    **dict.fromkeys(
        ("transform", "filter", "exists", "forall", "aggregate", "reduce", "zip_with", "array_sort"), MODEL
    ),
    **dict.fromkeys(("map_filter", "transform_values", *GENERATORS), MODEL),
}
"""What the grammar has, or what is computed otherwise than its place in the table says."""
_NOT_YET = "has a type that depends on its arguments in a way that the catalogue does not say"


@dataclass(frozen=True)
class Status:
    """Whether a function is here, and where it is computed or why it is refused."""

    name: str
    where: str
    why: str = ""


def status(function: SparkFunction) -> Status:
    """What becomes of a function of Spark's."""
    name = function.name
    if name in _WRITTEN:
        return Status(name, _WRITTEN[name])
    if name in REFUSED or name in REFUSED_AGGREGATES:
        return Status(name, REFUSAL, REFUSED.get(name) or REFUSED_AGGREGATES[name])
    own = aggregates._ALIASES.get(name, name) in AGGREGATES
    if own or name in COMPUTED or name in TABLE or name in ALIASES or name in CONVERSIONS:
        return Status(name, MODEL)
    if function.group in NOT_SCALAR:
        return Status(name, REFUSAL, f"gives no value of one tuple; {NOT_SCALAR[function.group]}")
    if function.rules:
        return Status(name, SPARK)
    if (instead := hint_for_function(name)) is not None:
        return Status(name, REFUSAL, f"is no function here; {instead}")
    return Status(name, REFUSAL, refusal(function) if function.gives else _NOT_YET)


def title(group: str) -> str:
    return group.removesuffix("_funcs").replace("agg", "aggregate") + " functions"


def groups() -> dict[str, list[Status]]:
    found: dict[str, list[Status]] = defaultdict(list)
    for function in catalogue().values():
        found[function.group].append(status(function))
    return dict(sorted(found.items()))


def page(group: str, statuses: list[Status]) -> str:
    """The page of a group."""
    here = [s for s in statuses if s.where != REFUSAL]
    lines = [
        f"# {title(group).capitalize()}",
        "",
        f"{len(here)} of Spark's {len(statuses)} are here. Written by `tests/test_functions_page.py`; do not edit it.",
    ]
    for where, said in ((MODEL, "Computed by the model and by Spark"), (SPARK, "On Spark only, in batch and live")):
        names = [f"`{s.name}`" for s in statuses if s.where == where]
        if names:
            lines += ["", f"**{said}** ({len(names)}): {', '.join(names)}."]
    refused = [s for s in statuses if s.where == REFUSAL]
    if refused:
        lines += ["", "| refused | because it |", "|---|---|"]
        lines += [f"| `{s.name}` | {s.why} |" for s in refused]
    return "\n".join(lines) + "\n"


def index() -> str:
    """The page with the counts of all groups."""
    lines = [
        "# Spark's functions",
        "",
        "Which of the functions in Spark's catalogue are here. What the model computes is compared with Spark value by",
        "value. What it does not compute has the types that Spark's analyzer gives, and runs on Spark only, in batch",
        "and live: `--engine model` refuses it. Written by `tests/test_functions_page.py`; do not edit it.",
        "",
        "| group | in Spark | here | of these also in the model |",
        "|---|---|---|---|",
    ]
    totals = [0, 0, 0]
    for group, statuses in groups().items():
        counts = [len(statuses), sum(s.where != REFUSAL for s in statuses), sum(s.where == MODEL for s in statuses)]
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        lines.append(f"| [{title(group)}]({group}.md) | {' | '.join(map(str, counts))} |")
    lines.append(f"| **all** | {' | '.join(f'**{n}**' for n in totals)} |")
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """All pages by the names of their files."""
    return {"index.md": index(), **{f"{g}.md": page(g, s) for g, s in groups().items()}}
