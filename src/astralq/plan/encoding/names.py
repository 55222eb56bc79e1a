"""The names of all columns that plan tables have, and what they mean; `tests/plan` finds those that are not here."""

from __future__ import annotations

import re

NAMES = {
    # Streams and relations
    r"c\d+": "attributes, by their place in the schema",
    r"t|i|n": "the stamp of a stream's tuple: timestamp, batch index, position",
    r"ft|fi|tt|ti": "the half-open interval [from, to) of batch identifiers in which a relation's row holds",
    r"st|si|sn": "the stamp of the tuple that a relation's row is",
    r"(l_|r_)*[opqx]\d+|p\d+_[01]|tag|(l_|r_)*some|path|copy": "order columns: the components of φ",
    r"wt|wi": "the tick and number of the window that a row is in (SNEEql)",
    # Sources
    r"_t|_i|_n": "the stamp that a source's rows bring",
    r"k\d+|b\d+|h\d+|plus|cancelled|finds|balance|turn|ended|number|begins|chain|next_t": "changes of a log",
    r"unmatched": "whether a deletion finds no row",
    # Windows
    r"p|g\d+|b0|b1": "a tuple's position in its part, that part, its batch",
    r"d|_?p[xy]|l[xy]|_base": "the odometer",
    r"kp|kd|kx|ky|gone": "what a kept tuple knows of itself",
    r"e|lo|hi|_v|_e|_at": "evaluations with their bounds, and what is looked up in them",
    r"(enter|leave|later|other)(_\w+)?": "where a tuple enters and leaves, and what was looked up for it",
    r"m|_m|(own|after|at|next|with|first)_[ti]|last": "evaluations every so many positions, and the upper bound before",
    # Aggregation
    r"v\d+|z\d+|x\d+|y\d+|s\d+|there": "arguments of aggregates, order, locations and times; whether a row is there",
    r"[nmaxsq]\d+(_\d+)?|(in|out)_\w+": "partial values, limbs of sums, and final values",
    r"limb\d+_\d+|w\d+_\d+|[uc][sqd]\d+_\d+": "limbs of values, and digits and carries of what variances are made of",
    r"(from|leg|path|first|last|point)\d+": "paths",
    r"_enters|at|ai|next_\w+|last_\w+|block": "entries and exits",
    # Sequential work and joins
    r"_bucket|_b|_all_\w+|_before_\w+|_(first|next|last|final|earlier|later|carried|least)": "summaries of buckets",
    r"_probe|_payload|_side|_nearest|\w+_found|_reached|_batch|_tick|_number": "as-of lookups",
    r"(l_|r_)(\w+)|near|_own|_place": "both sides of a pair, their levels and buckets",
    r"key\d+": "expressions that have to be equal",
    r"_known|_h\d+|_tt|_ti|_holds|_fits": "rows that are looked up by key and time",
    r"mine|theirs|by|_change|_there": "how many rows of either side have a value",
    r"_start|_end|_run|_fresh|_from|_to|_covered": "intervals that are put together or taken apart",
    # Streamers and answers
    r"op|_rank|_o\d+|_begins|_ends": "changes, and whether a row's identity is new or gone",
    r"k|w|_(k|m|w|low|high|count|before|t|i|n|e|p|b0|d|wt|wi)|_[ckg]\d+": "numbers, and what they are joined by",
    r"at|bt|ai|bi|_bt|_s|_x|_y|_during|id|one|_needed|_h|_first_\w+|_end_\w+|_first_at|_end_at": "further helpers",
}
"""Patterns of names with their meaning; a name belongs to the first pattern that it matches."""

_KNOWN = [(re.compile(pattern), meaning) for pattern, meaning in NAMES.items()]


def meaning(name: str) -> str | None:
    """What a column of a plan table means; None if nobody says.

    >>> meaning("c3"), meaning("tt")[:27], meaning("surprise")
    ('attributes, by their place in the schema', 'the half-open interval [fro', None)
    """
    return next((means for pattern, means in _KNOWN if pattern.fullmatch(name)), None)
