"""docs/laws.md: every law of the optimizer, its conditions, and the smallest cases in which it must not be used."""

from __future__ import annotations

import inspect
from pathlib import Path

from astralq.algebra.base import Operator
from astralq.draw.picture import picture
from astralq.draw.words import query_text
from astralq.laws import rules
from astralq.laws.lower import lower
from astralq.laws.rule import Refused, Rule
from astralq.laws.rules import RULES
from astralq.laws.rules.band_order import as_band
from astralq.laws.trials import Answer, answer, rewritten
from astralq.model.values import Stream

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "laws.md"
PICTURES = DOCS / "pictures" / "laws"

INTRODUCTION = """\
# The laws of the optimizer

Written by `tests/laws/test_page.py` from `src/astralq/laws/rules`; do not edit it. [Laws](explanation/laws.md) explains
what equivalence is, and which laws of the papers hold. `astralq explain` shows which laws a query was rewritten by, and
which were refused. `astralq laws` tries all of them on random queries against the model. `--no-laws` switches them off,
`--without NAME` one of them.

A law is used only where all of its conditions hold. *Exactly* means that both sides are the same in everything; *up to
φ* that the tuples and their order are the same, but not what identifies them, so that nothing above may look at φ
itself. Each condition has a case that breaks it: the query as it is written, what the law would make of it, and both
answers. Times are microseconds since 1970.
"""


def page() -> str:
    lines = [INTRODUCTION, "| law | papers | |", "|---|---|---|"]
    lines += [f"| [`{r.name}`](#{r.name}) | {r.papers} | {r.says} |" for r in RULES]
    for rule in RULES:
        lines += ["", *_section(rule)]
    return "\n".join(lines) + "\n"


def _section(rule: Rule) -> list[str]:
    module = getattr(rules, rule.name)
    says, _, more = inspect.cleandoc(module.__doc__).partition("\n")
    lines = [f"## {rule.name}", "", says, "", f"**{rule.law}** ({rule.papers}), {rule.holds.value}.", ""]
    lines += _described(more.strip("\n").splitlines())
    lines += ["", "Only if", "", *(f"- *{name}*: {words};" for name, words in rule.conditions.items())]
    lines[-1] = lines[-1].removesuffix(";") + "."
    drawn = case_to_draw(rule)
    for case in rule.refused:
        lines += ["", *_case(rule, case)]
        if case is drawn:
            title = f"{case.name}: the query as it is written, and what the law would make of it"
            lines += ["", f"![{title}](pictures/laws/{rule.name}.svg)"]
    return lines


def _described(lines: list[str]) -> list[str]:
    """The rest of a rule's docstring: what is indented is an example."""
    found: list[str] = []
    inside = False
    for line in lines:
        example = line.startswith("    ") or (inside and not line.strip())
        if example and not inside:
            found.append("```text")
        if inside and not example:
            while not found[-1].strip():
                found.pop()
            found += ["```", ""]
        found.append(line.removeprefix("    ") if example else line)
        inside = example
    while found and not found[-1].strip():
        found.pop()
    return [*found, "```"] if inside else found


def _case(rule: Rule, case: Refused) -> list[str]:
    query, forced = sides(rule, case)
    return [
        f"**Refused, {case.name}** (*{case.breaks}*): {case.why}.",
        "",
        "```text",
        *(f"{name}: {_rows(rows)}" for name, rows in case.data.items()),
        "",
        "as it is written:",
        *_indented(str(query)),
        *_indented(_shown(answer(query, case.data))),
        "as the law would have it:",
        *_indented(str(forced)),
        *_indented(_shown(answer(forced, case.data))),
        "```",
    ]


def sides(rule: Rule, case: Refused) -> tuple[Operator, Operator]:
    """The query, and what the law makes of it without the condition; band joins as they are written."""
    forced, _ = rewritten(rule, lower(case.operator), [case.breaks], case.rows)
    assert forced is not None
    return case.operator, _raised(forced)


def _raised(op: Operator) -> Operator:
    """The operators with band joins as they were written."""
    found = as_band(op) or op
    return found.with_children(*map(_raised, found.children)) if found.children else found


def _rows(rows: object) -> str:
    if isinstance(rows, Stream):
        return ", ".join(f"{s.values} at {s.t}" for s in rows.tuples)
    return ", ".join(map(str, rows))  # type: ignore[call-overload]


def _shown(found: Answer) -> str:
    if isinstance(found, str):
        return f"→ {found}"
    return "\n  ".join(["→ " + (str(found[0]) if found else "nothing"), *map(str, found[1:])])


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


def case_to_draw(rule: Rule) -> Refused | None:
    """The case of a law that is drawn: the papers' own where there is one, else the first one without an error."""
    able = [c for c in rule.refused if not any(isinstance(answer(q, c.data), str) for q in sides(rule, c))]
    able = [c for c in able if "←" not in "".join(query_text(q) for q in sides(rule, c))]
    return next((c for c in able if c.why.startswith("001 ")), able[0] if able else None)


def draw(folder: Path) -> None:
    """Writes all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for rule in RULES:
        case = case_to_draw(rule)
        if case is not None:
            picture(sides(rule, case), case.data).save(folder / f"{rule.name}.svg")
