"""astralq server: a Spark that is kept warm, so that small queries do not wait for one to start."""

from __future__ import annotations

import time
from collections.abc import Mapping

from astralq.spark import server


def start(master: str | None, conf: Mapping[str, str]) -> str:
    begun = time.monotonic()
    found = server.start(master, conf)
    return f"the server at {found.url}, process {found.pid}, started in {time.monotonic() - begun:.0f} s"


def status() -> str | None:
    """What is known of the server; None if there is none."""
    found = server.running()
    if found is None:
        return None
    now = time.time()
    memory = "" if found.memory is None else f"\nholds    {found.memory / 2**20:,.0f} MB"
    settings = "".join(f"\nsetting  {k}={v}" for k, v in found.conf.items())
    return (
        f"server   {found.url}, process {found.pid}, on {found.master}\n"
        f"since    {_ago(now - found.started)} ago\n"
        f"idle     {_ago(now - found.last_used)}{memory}\n"
        f"python   {found.python}{settings}"
    )


def stop() -> str:
    found = server.stop()
    return "no server is running" if found is None else f"the server at {found} has stopped"


def _ago(seconds: float) -> str:
    """How long, in the largest unit of which there are at least two."""
    size, unit = next(
        (s, u) for s, u in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")) if seconds >= 2 * s or s == 1
    )
    return f"{max(0, int(seconds)) // size} {unit}"
