"""Operators compare by meaning, have a digest that every process gives them, and can be built over other children."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from astralq import Instant, at_instants, for_loop, instant, range_, relation, rows, stream
from astralq.algebra.base import Operator
from astralq.algebra.digest import UnnamedFunctionError
from astralq.algebra.domain import AtInstant, Domain
from astralq.algebra.relational import Rename, Select
from astralq.algebra.stream_ops import LookupJoin
from astralq.algebra.windows import Window, WindowSpec
from astralq.errors import PlanError
from astralq.expr.nodes import Column, Literal
from astralq.runtime.queries import ContinuousQuery
from astralq.schema import DOUBLE, INT
from tests.language.support import bound
from tests.queries import nth

S = stream("S", "id INT, v INT")
R = relation("R", "id INT, w INT")


def upto(limit: int, *, text: tuple[str, str] | None = None) -> WindowSpec:
    return at_instants([Instant(9)], lambda _: 0, lambda _: limit, text=text)


def test_windows_with_different_functions_are_different() -> None:
    assert S[upto(1)].operator != S[upto(3)].operator
    same = upto(1)
    assert S[same].operator == S[same].operator


def test_functions_that_the_language_reads_compare_by_what_they_compute() -> None:
    def window(step: str, bound_: str) -> Operator:
        loop = f"(t = TIMESTAMP '1970-01-01'; t < TIMESTAMP '1970-01-02'; t = t + {step})"
        return bound(f"SELECT * FROM s [FOR {loop} FROM {bound_} TO t]")

    assert window("60 SECONDS", "t - 1 MINUTE") == window("1 MINUTE", "t - 60 SECONDS")
    assert window("60 SECONDS", "t - 1 MINUTE").digest == window("1 MINUTE", "t - 60 SECONDS").digest
    assert window("60 SECONDS", "t - 1 MINUTE") != window("60 SECONDS", "t - 2 MINUTES")
    assert window("60 SECONDS", "t - 1 MINUTE").digest != window("60 SECONDS", "t - 2 MINUTES").digest


def test_attributes_compare_whatever_their_case() -> None:
    assert S[rows(1).by("ID")].operator == S[rows(1).by("id", "Id")].operator
    assert S.spread("ID").operator == S.spread("id").operator


def test_constants_that_can_be_told_apart_are_different() -> None:
    nan = float("nan")
    assert Literal(DOUBLE, nan) == Literal(DOUBLE, float("nan"))
    assert Literal(DOUBLE, 0.0) != Literal(DOUBLE, -0.0)


# Digests


def test_different_queries_have_different_digests_and_equal_ones_the_same() -> None:
    cases = [nth(k).query.operator for k in range(60)]
    again = [nth.__wrapped__(k).query.operator for k in range(60)]  # not the same objects
    assert [a.digest for a in cases] == [b.digest for b in again]
    by_digest = {op.digest: op for op in cases}
    assert all(by_digest[op.digest] == op for op in cases)


def test_a_digest_is_the_same_in_every_process() -> None:
    program = (
        "from astralq import range_, stream\n"
        "means = stream('S', 'id INT, v DOUBLE')[range_('1 min').by('id')].aggregate('avg(v) AS m', by='id')\n"
        "print(means.where('m > 0.5').istream().operator.digest)"
    )
    root = Path(__file__).parents[2]
    found = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1
    assert len(found.pop().strip()) == 24


def test_a_function_without_a_name_has_no_digest() -> None:
    with pytest.raises(UnnamedFunctionError, match=r"the function function of lo\(t\) has no name") as raised:
        _ = S[upto(1)].operator.digest
    assert raised.value.hint is not None
    assert raised.value.hint.startswith("name it")
    assert S[upto(1, text=("0", "1"))].operator.digest == S[upto(1, text=("0", "1"))].operator.digest


def test_a_continuous_query_refuses_functions_without_a_name_and_two_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(UnnamedFunctionError):
        ContinuousQuery("1", S[upto(1)].operator, None, tmp_path)
    a, b = (S[upto(n, text=("0", "limit"))].istream() for n in (1, 2))
    with pytest.raises(PlanError, match="two functions in this query have one name"):
        ContinuousQuery("1", a[range_("1 s")].join(b[range_("1 s")].rename({"id": "i", "v": "w"}), "id = i").operator,
                        None, tmp_path)  # fmt: skip


def test_a_continuous_query_refuses_an_attribute_with_the_name_of_positions(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="an attribute is called _n") as raised:
        ContinuousQuery("1", bound("SELECT _n, v FROM s"), None, tmp_path)
    assert raised.value.hint == "give it another name: _n AS position"
    ContinuousQuery("1", bound("SELECT _n AS position, v FROM s"), None, tmp_path)


def test_a_loop_without_a_name_has_no_digest() -> None:
    loop = for_loop("1970-01-01", lambda t: t < 9, lambda t: Instant(t + 3), lambda t: t - 1, lambda t: t)
    with pytest.raises(UnnamedFunctionError):
        _ = S[loop].operator.digest


# Rewriting


@pytest.mark.generated
def test_every_query_can_be_built_again_from_its_parts(seed: int) -> None:
    op = nth(seed).query.operator
    rebuilt = op.transform(lambda o: o.with_children(*o.children))
    assert rebuilt == op
    assert rebuilt.digest == op.digest
    assert op.transform(lambda o: o) is op


def test_transform_goes_from_the_sources_up() -> None:
    seen: list[str] = []

    def note(op: Operator) -> Operator:
        seen.append(type(op).__name__)
        return op

    S[rows(3)].where("v > 1").istream().operator.transform(note)
    assert seen == ["StreamSource", "Window", "Select", "IStream"]


def test_a_pattern_finds_an_operator_by_its_parts() -> None:
    match S[rows(3)].where("v > 1").operator:
        case Select(Window(child, spec), condition):
            assert (child, spec, str(condition)) == (S.operator, rows(3), "v > 1")
        case other:
            pytest.fail(str(other))


def test_a_composite_and_a_past_state_of_a_stream_take_all_their_children() -> None:
    lookup = LookupJoin(S.operator, R.rename({"id": "i"}).operator)
    other = stream("T", "id INT, v INT").operator
    changed = lookup.transform(lambda op: other if op == S.operator else op)
    assert {op.name for op in changed.walk() if hasattr(op, "name")} == {"T", "R"}
    (past,) = [op for op in changed.definition.walk() if isinstance(op, Domain)]  # type: ignore[attr-defined]
    assert past.with_children(R.operator, S.operator).children == (R.operator, S.operator)
    fixed = Domain(R.operator, AtInstant(instant(5)))
    assert fixed.with_children(R.where("id > 1").operator).children == (R.where("id > 1").operator,)


def test_a_renaming_over_another_child_keeps_one_form() -> None:
    renamed = Rename(R.operator, (("w", "x"), ("id", "id")))
    assert renamed.names == (("w", "x"),)
    assert renamed.with_children(R.where("id > 1").operator).names == (("w", "x"),)


def test_an_expression_is_transformed_from_its_innermost_parts_up() -> None:
    condition = S.where("CASE WHEN v > 1 THEN id IN (1, 2) ELSE CAST(v AS STRING) = 'x' END").operator.condition  # type: ignore[attr-defined]
    moved = condition.transform(lambda e: Column(INT, "id") if e == Column(INT, "v") else e)
    assert str(moved) == "CASE WHEN id > 1 THEN id IN (1, 2) ELSE CAST(id AS STRING) = 'x' END"
    assert condition.transform(lambda e: e) is condition
