"""Which parts of several queries are computed once for all of them, by which law, and why others are not.

A window that an older query has serves younger ones. Aggregations over windows of different size, slide and start are
answered from common panes. What queries select on top of the shared part stays theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

from astralq.sharing.aggregations import join_panes, share_panes
from astralq.sharing.common import Rooted, Shared, Sizes
from astralq.sharing.windows import join_windows, share_windows
from astralq.timeline import Instant


def share(queries: Sequence[Rooted], sizes: Sizes | None = None, *, live: bool = False) -> Shared:
    """The queries, rewritten so that what they can share is the same in all of them; `live`: what they keep, too."""
    shared = Shared(list(queries))
    share_panes(shared, sizes or Sizes(), live=live)
    share_windows(shared, sizes or Sizes(), live=live)
    return shared


def join(running: Sequence[tuple[Rooted, Instant]], new: Rooted) -> Shared:
    """A new query, rewritten so that it uses what running ones keep already; these stay as they are. Each comes with
    the instant up to which it has answered."""
    shared = Shared([new])
    join_panes(shared, running)
    join_windows(shared, running)
    return shared
