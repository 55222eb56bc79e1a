"""The optimizer: a fixpoint, in which each step is checked, with what was refused and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from astralq import range_, relation, rows, stream, unbounded
from astralq.algebra.base import Operator
from astralq.algebra.phi import phi_form
from astralq.algebra.relational import Project, Select, SetKind, SetOperation
from astralq.algebra.sources import RelationSource
from astralq.errors import PlanError
from astralq.laws.explain import about, refused, total_rows
from astralq.laws.invariants import LawError
from astralq.laws.optimize import optimize, rules_without
from astralq.laws.rule import Holds, Rule, Site
from astralq.laws.rules import RULES
from astralq.plan.explain import Explanation

S = stream("S", "id INT, v INT, w INT, ts TIMESTAMP", timestamp="ts")
R = relation("R", "id INT, name STRING")
HOUR = range_("1 h", slide="1 min")


def names(query: Operator) -> list[str]:
    return [s.rule.name for s in optimize(query).steps]


def rule(rewrite: Callable[[Operator, Site], Operator | None], name: str = "wrong") -> Rule:
    return replace(RULES[0], name=name, holds=Holds.EXACTLY, rewrite=rewrite)


# What is applied


def test_a_selection_goes_from_a_streamer_down_to_the_source() -> None:
    query = S[HOUR].istream().where("v > 20 AND id = 1").operator
    assert str(optimize(query).after).splitlines() == [
        "ISTREAM",
        "└─ WINDOW [RANGE 1 HOUR SLIDE 1 MINUTE]",
        "   └─ SELECT v > 20 AND id = 1",
        "      └─ STREAM S",
    ]


def test_of_a_lookup_join_the_selections_reach_both_sides() -> None:
    """[001 C4] [001 Remark1]"""
    query = S.lookup(R.rename({"id": "i"}), on="id = i").where("v > 20 AND name = 'x'").operator
    after = str(optimize(query).after)
    assert after.count("SELECT v > 20\n") == 2  # of the stream, and of the batches that the lookup goes by
    assert "SELECT name = 'x'" in after


def test_of_a_stream_join_the_selection_on_the_stream_stays_above_its_last_batch() -> None:
    """[001 Remark1]"""
    query = S.join(R.rename({"id": "i"}), on="id = i").where("v > 20").operator
    lines = [line.strip("│├└─ ") for line in str(optimize(query).after).splitlines()]
    assert lines[lines.index("SELECT v > 20") + 1].startswith("WINDOW [LAST BATCH]")


def test_a_stream_operator_that_was_written_as_a_composition_becomes_one_again() -> None:
    """[001 C2] [001 C3]"""
    query = S[unbounded()].where("v > 20").istream().operator
    assert optimize(query).after == S.where("v > 20").operator


def test_a_product_with_a_condition_becomes_a_join() -> None:
    """[003 §6.2]"""
    query = S[HOUR].product(R.rename({"id": "i"})).where("id = i AND v > 1").operator
    assert "PRODUCT" not in str(optimize(query).after)


def test_a_selection_on_time_reads_the_attribute_of_the_source() -> None:
    query = S[HOUR].where("_t >= TIMESTAMP '2026-03-01'").operator
    assert "SELECT ts >= TIMESTAMP '2026-03-01T00:00:00Z'" in str(optimize(query).after)


def test_nothing_is_left_to_do_after_a_fixpoint() -> None:
    query = S[HOUR].where("v > 20").aggregate("max(v) AS m", by="id").where("id = 1").istream().operator
    once = optimize(query)
    assert once.steps
    assert optimize(once.after).steps == ()


# What is refused


def test_a_refusal_says_why() -> None:
    (why,) = refused(optimize(S[rows(3)].where("v > 20").operator))
    assert why == (
        "select_through_window at SELECT v > 20: not pushed below [ROWS 3]: "
        "those with v > 20 among the last 3 rows are not the last 3 rows among those"
    )


def test_a_law_up_to_phi_is_refused_below_an_intersection_by_phi() -> None:
    """[001 D36] D36 is no congruence."""
    selected = S[HOUR].where("v > 20").operator
    query = SetOperation(selected, S[unbounded()].operator, SetKind.INTERSECT)
    assert names(selected) == ["select_through_window"]
    assert "select_through_window" not in names(query)
    assert "somebody above looks at φ itself" in refused(optimize(query))[0]


# What is checked


def test_a_rule_that_changes_the_attributes_is_blamed_by_name() -> None:
    def drops(op: Operator, site: Site) -> Operator | None:
        return Project(op.child, op.items[:1]) if isinstance(op, Project) and len(op.items) > 1 else None

    with pytest.raises(LawError, match="the law wrong changed the attributes from id INT, v INT to id INT"):
        optimize(S.select("id", "v").operator, [rule(drops)])


def test_a_rule_that_loses_a_source_is_blamed_by_name() -> None:
    """A run observes all of its sources, also those that its answer does not need."""

    def other(op: Operator, site: Site) -> Operator | None:
        return replace(op, name="Q") if isinstance(op, RelationSource) and op.name == "R" else None

    with pytest.raises(LawError, match="the law wrong changed the observation"):
        optimize(R.operator, [rule(other)])


def test_a_rule_that_changes_the_order_is_blamed_by_name() -> None:
    def doubles(op: Operator, site: Site) -> Operator | None:
        if isinstance(op, Select):
            return SetOperation(op.child, op.child, SetKind.UNION)
        return None

    with pytest.raises(LawError, match="the law wrong changed the order"):
        optimize(R.where("id = 1").operator, [rule(doubles)])


def test_rules_that_undo_each_other_are_named() -> None:
    def there(op: Operator, site: Site) -> Operator | None:
        return R.where("id = 1").operator if isinstance(op, RelationSource) else None

    def back(op: Operator, site: Site) -> Operator | None:
        return op.child if isinstance(op, Select) else None

    def once(op: Operator, site: Site) -> Operator | None:
        match op:
            case Project(RelationSource() as source):
                return op.with_children(there(source, site) or source)
        return None

    with pytest.raises(LawError, match="the laws there and back undo each other"):
        optimize(R.select("id").operator, [rule(once, "there"), rule(back, "back")])


def test_phi_has_the_same_form_however_joins_are_put() -> None:
    a, b, c = (relation(n, f"{n} INT") for n in "ABC")
    assert phi_form(a.product(b).product(c).operator) == phi_form(a.product(b.product(c)).operator)


# Switches


def test_all_laws_can_be_switched_off_and_each_by_its_name() -> None:
    query = S[HOUR].where("v > 20").operator
    assert optimize(query, rules_without(laws=False)).steps == ()
    assert optimize(query, rules_without(["select_through_window"])).steps == ()
    with pytest.raises(PlanError, match="there is no law 'select_through_windows'"):
        rules_without(["select_through_windows"])


# What it is said to bring


def test_estimates_follow_the_sizes_of_sources() -> None:
    optimized = optimize(S[HOUR].where("id = 1").istream().operator)
    before, after = (total_rows(q, {"S": 1000}) for q in (optimized.before, optimized.after))
    assert (before, after) == (1000 + 1000 + 100, 1000 + 100 + 100)
    assert about(before) == "~2,100"


def test_joins_are_put_in_order_by_the_sizes_of_sources() -> None:
    a, b, c = (stream(n, f"{n}k INT, {n}j INT")[HOUR] for n in "abc")
    query = a.join(b, on="ak = bk").join(c, on="bj = cj").operator
    sizes = {"a": 1_000_000, "b": 1_000_000, "c": 10}
    assert "join_order" in [s.rule.name for s in optimize(query, rows=sizes).steps]
    assert "join_order" not in [s.rule.name for s in optimize(query, rows={**sizes, "a": 10, "c": 1_000_000}).steps]


def test_an_explanation_shows_the_state_with_laws_and_without() -> None:
    explanation = Explanation.without_data(S[rows(2)].where("v > 1").select("v").operator, None)
    found = explanation.json
    assert found["laws"]["refused"][0]["law"] == "select_through_window"
    assert found["laws"]["applied"][0]["law"] == "dead_columns"
    assert "<h4>laws</h4>" in explanation._repr_html_()
    wide = Explanation.without_data(S[range_("1 h")].where("v > 20").istream().operator, None)
    assert wide.sections["kept by a continuous run"] == ["nothing"]
    assert wide.sections["kept without laws"] == ["WINDOW [RANGE 1 HOUR]: the tuples that it holds, or will hold"]
