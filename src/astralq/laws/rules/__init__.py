"""The rules of the optimizer in the order in which they are tried: one file each, one line here."""

from __future__ import annotations

from astralq.laws.rule import Rule
from astralq.laws.rules import (
    band_order,
    bound_by_window,
    dead_columns,
    distinct_over_keys,
    drop_order,
    evaluations_at_a_period,
    fold_constants,
    join_condition_to_sides,
    join_from_selection,
    join_order,
    limit_by_place,
    limit_through_projection,
    lookup_batches,
    merge_limits,
    merge_projections,
    merge_selections,
    no_row_over_nothing,
    project_through_streamer,
    project_through_window,
    select_through_aggregate,
    select_through_join,
    select_through_limit,
    select_through_lookup,
    select_through_order,
    select_through_past,
    select_through_projection,
    select_through_streamer,
    select_through_union,
    select_through_window,
    stream_of_window,
    time_as_attribute,
    transposition,
)

RULES: tuple[Rule, ...] = tuple(
    Rule.of(module)
    for module in (
        band_order,
        evaluations_at_a_period,  # before others move something into the lookup
        fold_constants,
        merge_projections,
        merge_selections,
        stream_of_window,
        drop_order,
        limit_by_place,
        merge_limits,
        limit_through_projection,
        select_through_projection,
        select_through_order,
        select_through_limit,
        select_through_streamer,
        select_through_past,
        select_through_union,
        select_through_aggregate,
        no_row_over_nothing,
        select_through_join,
        join_from_selection,
        join_condition_to_sides,
        select_through_lookup,
        select_through_window,
        join_order,  # before projections stand between joins
        distinct_over_keys,
        project_through_streamer,
        project_through_window,
        dead_columns,
        lookup_batches,
        bound_by_window,
        time_as_attribute,
        transposition,
    )
)
