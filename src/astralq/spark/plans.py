"""Physical plans as text, and what a plan of ours must never have in it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout

from pyspark.sql import DataFrame

from astralq.plan.answer import Plan
from astralq.spark.batch import Batch


def plan_of(df: DataFrame) -> str:
    """The physical plan that Spark has made."""
    out = io.StringIO()
    with redirect_stdout(out):
        df.explain()
    return out.getvalue().strip()


def compiled_plans(batch: Batch) -> list[str]:
    """The plans of a run: those of the tables that are computed once, and last that of the answer."""
    return _physical(batch, batch.plan())


def _physical(batch: Batch, plan: Plan) -> list[str]:
    answer = batch.answer(plan)
    return [plan_of(df) for df in (*batch.materialized, answer)]


def physical_plans(batch: Batch) -> tuple[Plan, str]:
    """The plan of a query, and all of Spark's, with a heading for each."""
    plan = batch.plan()
    plans = _physical(batch, plan)
    headings = [f"computed once, {k} of {len(plans) - 1}" for k in range(1, len(plans))]
    return plan, "\n\n".join(f"-- {h}\n{p}" for h, p in zip([*headings, "answer"], plans, strict=True))


_WINDOW = re.compile(r"^([ :|+-]*)Window \[(.*)$")
_PYTHON = re.compile(r"\b(ArrowEvalPython|BatchEvalPython|MapInPandas|MapInArrow|FlatMapGroupsIn\w+|PythonUDF)\b")


def violations(plan: str) -> Iterator[str]:
    """What a plan has that it must not have: sequential work on raw tuples, all pairs, Python in the path of tuples."""
    lines = plan.splitlines()
    for k, line in enumerate(lines):
        found = _WINDOW.match(line)
        if found and _is_global(found[2]) and not _is_summary(lines[k + 1 :]):
            yield f"a window function over raw tuples on a single core: {line.strip()[:200]}"
        nested = "NestedLoopJoin" in line or "CartesianProduct" in line
        if nested and not _is_one_row(lines[k + 1 :]):
            yield f"a nested-loop join: {line.strip()[:200]}"
        if _PYTHON.search(line) and not re.search("astralq_(inside|python)_", line):
            yield f"Python in the path of tuples: {line.strip()[:200]}"


def _is_global(text: str) -> bool:
    """Whether a window has no PARTITION BY: its specification begins with the order."""
    specs = re.findall(r"windowspecdefinition\((.*?), specifiedwindowframe", text)
    return any(re.match(r"(0, )?\S+ (ASC|DESC)", spec) for spec in specs)


def _is_summary(below: list[str]) -> bool:
    """Whether what comes in is one row per bucket: the first aggregate below it groups by buckets."""
    for line in below:
        if "HashAggregate" in line or "SortAggregate" in line or "ObjectHashAggregate" in line:
            return "_bucket" in line.split("functions=")[0]
        if re.search(r"\b(Scan|Join|Window|Generate|Union)\b", line):
            return False
    return False


def _is_one_row(below: list[str]) -> bool:
    """Whether one side is a single row: an aggregate without keys, or a range of one."""
    return any("keys=[]" in line or "Range (0, 1" in line for line in below)
