"""Makes spark_functions.json: probes Spark's analyzer with arguments of every type, and generalises what it answers.

Each function is tried with the arguments of its examples in Spark's documentation, one of them varied over all types at
a time, and functions of two arguments with all pairs of types that were taken. Nothing is computed. Calls that are
answered alike become one rule: a set of classes of types for each argument, and a result that may be made of them.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

from astralq.expr.spark_functions import SETS

OUT = Path(__file__).parent.parent / "src" / "astralq" / "expr" / "spark_functions.json"

VALUES = {
    "boolean": "true",
    "tinyint": "1Y",
    "smallint": "1S",
    "int": "1",
    "bigint": "1L",
    "float": "1.5F",
    "double": "1.5D",
    "decimal(10,2)": "CAST(1.25 AS DECIMAL(10,2))",
    "decimal(20,5)": "CAST(1 AS DECIMAL(20,5))",
    "string": "'1'",
    "binary": "X'31'",
    "date": "DATE'2024-01-01'",
    "timestamp": "TIMESTAMP'2024-01-01 00:00:00'",
    "interval day to second": "INTERVAL '1 00:00:00' DAY TO SECOND",
    "interval year to month": "INTERVAL '1-1' YEAR TO MONTH",
    "array<int>": "array(1)",
    "array<double>": "array(1.5D)",
    "array<float>": "array(1.5F)",
    "array<string>": "array('a')",
    "array<date>": "array(DATE'2024-01-01')",
    "array<binary>": "array(X'31')",
    "array<array<int>>": "array(array(1))",
    "array<struct<x:int,y:string>>": "array(named_struct('x',1,'y','a'))",
    "map<string,int>": "map('a',1)",
    "map<int,string>": "map(1,'a')",
    "struct<x:int,y:string>": "named_struct('x',1,'y','a')",
}
"""The types that are tried, with a value of each."""
COLUMN = {type_: f"k{k}" for k, type_ in enumerate(VALUES)}

NOT_PROBED = ("generator_funcs", "window_funcs", "table_funcs", "predicate_funcs", "lambda_funcs")
TYPED_HERE = (
    *("struct", "named_struct", "array", "map", "nvl", "ifnull", "nvl2", "greatest", "least", "coalesce", "concat"),
    *("from_json", "from_csv", "from_xml", "arrays_zip", "map_from_arrays", "nullif", "nullifzero", "zeroifnull", "if"),
    *("when", "approx_top_k_accumulate", "map_concat", "to_number", "try_to_number", "cast", "mod", "div", "between"),
    *("extract", "approx_top_k", "histogram_numeric", "json_tuple", "grouping", "grouping_id", "measure"),
)
"""Functions whose types no rule says: our own binder types them, or they are refused."""
FOREIGN = re.compile(
    r"timestamp_ntz|variant|time\(|geometry|geography|void|timestamp_ltz\(|struct<>|\binterval$|interval day$"
    r"|interval year$|interval hour|collate"
)
"""Types that the language has not."""

Slot = tuple[str, str]
"""A column of a type, ("", type), or a constant, (text, type)."""
Answers = dict[tuple[Slot, ...], str]
"""What calls with certain arguments give."""

_CONSTANT = re.compile(
    r"-?[\d.]+\w*|'.*'|\".*\"|true|false|(?:date|timestamp|interval|X|array|map|named_struct|struct)\b.*|CAST.*",
    re.IGNORECASE | re.DOTALL,
)


class Analyzer:
    """Spark's analyzer, asked for the types of expressions."""

    def __init__(self, spark: Any) -> None:
        state = spark._jsparkSession.sessionState()
        self.analyzer, self.parser = state.analyzer(), state.sqlParser()
        held = ", ".join(f"if(id >= 0, {v}, NULL) AS {COLUMN[t]}" for t, v in VALUES.items())  # no constants
        spark.sql(f"SELECT {held} FROM range(1)").createOrReplaceTempView("probed")

    def types(self, texts: list[str], source: str = "FROM probed") -> list[str | None]:
        """The type of each expression, None where it has none; asked together, and halved where one cannot be read."""
        if not texts:
            return []
        listed = ", ".join(f"{t} AS c{k}" for k, t in enumerate(texts))
        try:
            found = self.analyzer.execute(self.parser.parsePlan(f"SELECT {listed} {source}")).expressions()
            return [e.dataType().catalogString() if e.resolved() else None for e in map(found.apply, range(len(texts)))]
        except Exception:  # whatever Spark says, it is no call of this function
            half = len(texts) // 2
            return [None] if not half else self.types(texts[:half], source) + self.types(texts[half:], source)


class Probe:
    """All that is asked about one function."""

    def __init__(self, name: str, examples: str, analyzer: Analyzer) -> None:
        self.name, self.analyzer = name, analyzer
        self.answers: dict[tuple[Slot, ...], str | None] = {}
        self.bases = [base for e in _examples(name, examples) if (base := self._base(*e)) is not None]

    def ask(self, calls: list[tuple[Slot, ...]]) -> list[str | None]:
        new = [c for c in dict.fromkeys(calls) if c not in self.answers]
        for count in {len(c) for c in new}:
            alike = [c for c in new if len(c) == count]
            for k in range(0, len(alike), 200):
                part = alike[k : k + 200]
                texts = [f"{self.name}({', '.join(t or COLUMN[type_] for t, type_ in c)})" for c in part]
                self.answers |= dict(zip(part, self.analyzer.types(texts), strict=True))
        return [self.answers[c] for c in calls]

    def _base(self, args: list[str], source: str) -> tuple[Slot, ...] | None:
        """The arguments of an example: columns where Spark takes any value, else constants."""
        types = [self.analyzer.types([a], source)[0] for a in args]
        columns = [("", "decimal(10,2)" if str(t).startswith("decimal") else str(t)) for t in types]
        slots = [c if c[1] in VALUES else (a, str(t)) for a, t, c in zip(args, types, columns, strict=True)]
        if self.ask([tuple(slots)])[0]:
            return tuple(slots)
        given = [
            (a, str(t)) if _CONSTANT.fullmatch(a.strip()) else s for a, t, s in zip(args, types, slots, strict=True)
        ]
        if not self.ask([tuple(given)])[0]:
            return None
        for k, slot in enumerate(slots):
            tried = (*given[:k], slot, *given[k + 1 :])
            if slot[0] == "" and self.ask([tried])[0]:
                given[k] = slot
        return tuple(given)

    def run(self) -> None:
        self.ask([()])
        self.ask([(("", t),) for t in VALUES])
        pairs = [(("", t), ("", t)) for t in VALUES] + [
            (("", f"array<{t}>"), ("", t)) for t in ("double", "string", "date")
        ]
        pairs += [(("", "array<array<int>>"), ("", "array<int>")), (("", "map<int,string>"), ("", "int"))]
        two = any(len(b) == 2 for b in self.bases)
        bases = [*self.bases, *(p for p, t in zip(pairs, self.ask(pairs), strict=True) if t)] if two else self.bases
        taken: dict[tuple[int, int], set[str]] = defaultdict(set)
        for base in dict.fromkeys(bases):
            for k in [k for k, slot in enumerate(base) if slot[0] == ""]:
                calls = [(*base[:k], ("", t), *base[k + 1 :]) for t in VALUES]
                taken[len(base), k] |= {t for t, found in zip(VALUES, self.ask(calls), strict=True) if found}
        self.ask([(("", a), ("", b)) for a, b in product(taken[2, 0], taken[2, 1])])

    @property
    def variadic(self) -> bool:
        base = next(iter(self.bases), ())
        return bool(base) and self.ask([(*base, *(base[-1],) * 3)])[0] is not None


def _examples(name: str, text: str) -> list[tuple[list[str], str]]:
    """The arguments of a function's calls in its documentation, and what follows them: FROM …"""
    found = []
    for query in re.findall(r">\s*SELECT\s(.*?);", text, re.DOTALL):
        for start in re.finditer(rf"\b{re.escape(name)}\s*\(", query, re.IGNORECASE):
            args, rest = _arguments(query[start.end() :])
            source = re.search(r"\bFROM\b.*", rest, re.DOTALL | re.IGNORECASE)
            if args is not None and len(args) <= 6 and not any("->" in a for a in args):
                plain = [re.sub(r"^(DISTINCT|ALL)\s", "", a, flags=re.IGNORECASE) for a in args]
                found.append((plain, source[0] if source else ""))
    return found


_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[(\[{]|[)\]}]|,|[^'\"()\[\]{},]+", re.DOTALL)


def _arguments(text: str) -> tuple[list[str] | None, str]:
    parts, depth = [""], 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if depth < 0:
            return [p.strip() for p in parts] if parts != [""] else [], text[token.end() :]
        if token[0] == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += token[0]
    return None, ""


# From answers to rules


def rules(answers: Answers) -> list[tuple[list[str], str]]:
    """The rules that say what all answers say, but for those with types that the language has not."""
    made = []
    for count in sorted({len(c) for c in answers}):
        left = {c: t for c, t in answers.items() if len(c) == count and not FOREIGN.search(t)}
        while left:
            votes: dict[str, set[tuple[Slot, ...]]] = defaultdict(set)
            for call, type_ in left.items():
                for result in _results([t for _, t in call], type_):
                    votes[result].add(call)
            best = max(votes, key=lambda r: (len(votes[r]), "$" in r))
            for call in votes[best]:
                left.pop(call)
            of_digits = "$" not in best and re.search(r"decimal\(\d", best)
            slots = {(constant != "", t) for call in votes[best] for constant, t in call}
            if of_digits and any("decimal" in t or (constant and t == "int") for constant, t in slots):
                continue  # the digits of a result follow from those of the arguments by a rule that is not known here
            made += [(sets, _shorter(best)) for sets in _rectangles(votes[best], count)]
    return sorted(made, key=lambda rule: (len(rule[0]), *_size(rule[0])))  # the first one that fits is taken


def _size(sets: list[str]) -> tuple[int, list[str]]:
    """How many calls a rule takes: a narrow one goes before one that takes its calls, too."""
    return math.prod(sum(len(SETS.get(part, (part,))) for part in text.split("|")) for text in sets), sets


def _shorter(type_: str) -> str:
    return type_.replace("interval day to second", "interval").replace("interval year to month", "months")


def _class(slot: Slot) -> str:
    name = "decimal" if slot[1].startswith("decimal") else _shorter(slot[1])
    return name if slot[0] == "" else f"={name}"


def _results(args: list[str], result: str) -> list[str]:
    """How a result may follow from the arguments' types."""
    found = []
    for k, a in enumerate(args, 1):
        element = a[6:-1] if a.startswith("array<") else None
        key, value = a[4:-1].split(",") if a in SETS["map"] else (None, None)
        forms = {
            f"${k}": a,
            f"${k}.element": element,
            f"${k}.element.element": element[6:-1] if element and element.startswith("array<") else None,
            f"array<${k}>": f"array<{a}>",
            f"${k}.key": key,
            f"${k}.value": value,
            f"array<${k}.key>": f"array<{key}>",
            f"array<${k}.value>": f"array<{value}>",
            f"array<struct<key:${k}.key,value:${k}.value>>": f"array<struct<key:{key},value:{value}>>",
        }
        found += [form for form, type_ in forms.items() if type_ == result]
    return [*found, result]


def _rectangles(calls: set[tuple[Slot, ...]], count: int) -> list[list[str]]:
    """Sets of classes for each argument whose combinations are the calls; of three or more, each by itself."""
    classes = {tuple(map(_class, call)) for call in calls}
    if count == 2:
        seconds: dict[str, set[str]] = defaultdict(set)
        for first, second in classes:
            seconds[first].add(second)
        alike: dict[frozenset[str], set[str]] = defaultdict(set)
        for first, others in seconds.items():
            alike[frozenset(others)].add(first)
        found = [[firsts, set(others)] for others, firsts in alike.items()]
    else:
        found = [[{c[k] for c in classes} for k in range(count)]]
    texts = [[_text(members) for members in sets] for sets in found]
    return sorted(t for t in texts if all(t))


def _text(members: set[str]) -> str:
    """A set of classes; constants of types that need more than a constant are left out."""
    left = {m for m in members if not re.match(r"=(interval|array<decimal|map|void|struct|None)", m)}
    parts = []
    for name in ("any", "scalar", "number", "integral", "array", "map"):
        if SETS[name] <= left:
            parts.append(name)
            left -= SETS[name]
    return "|".join([*parts, *sorted(left)])


def main() -> None:
    from astralq.spark.session import session

    spark = session("local[1]")
    analyzer = Analyzer(spark)
    infos = spark._jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()  # type: ignore[union-attr]
    lines = []
    for info in sorted(infos, key=lambda i: str(i.getName())):
        name = str(info.getName())
        entry: dict[str, Any] = {"group": str(info.getGroup())}
        if entry["group"] not in NOT_PROBED and re.fullmatch(r"\w+", name) and name not in TYPED_HERE:
            probe = Probe(name, str(info.getExamples() or ""), analyzer)
            probe.run()
            answers = {c: t for c, t in probe.answers.items() if t is not None}
            entry["rules"] = rules(answers)
            foreign = sorted(t for t in answers.values() if FOREIGN.search(t))
            entry |= {"variadic": True} if probe.variadic else {}
            entry |= {"gives": foreign[0]} if foreign and not entry["rules"] else {}
        lines.append(f" {json.dumps(name)}: {json.dumps({k: v for k, v in entry.items() if v})}")
    OUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
