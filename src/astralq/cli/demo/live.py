"""The last part of the demo: a query that is answered while measures come in, for ten seconds."""

from __future__ import annotations

import csv
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from astralq.cli.demo.ocean import Ocean, minutes_of
from astralq.language import read_script
from astralq.timeline import format_instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from astralq.runtime.progress import RunProgress
    from astralq.runtime.sinks import Sink

PORTION = 30 * 60 * 1_000_000
"""Half an hour of the day arrives every second."""


def feed(ocean: Ocean, folder: Path, stop: threading.Event) -> None:
    """Files that appear in a folder, one a second, each as a whole."""
    for k, rows in enumerate(islice(minutes_of(ocean, PORTION), 48)):
        hidden, path = folder / f".{k:03d}.csv", folder / f"{k:03d}.csv"
        with hidden.open("w", encoding="utf-8", newline="") as f:
            writer = csv.writer(f, lineterminator="\n")
            writer.writerow(("sensor", "value", "ts"))
            writer.writerows((sensor, value, format_instant(t)) for sensor, value, t in rows)
        hidden.rename(path)
        if stop.wait(1.0):
            return


def run_live(
    spark: SparkSession,
    ocean: Ocean,
    folder: Path,
    text: str,
    sink: Sink,
    on_progress: Callable[[RunProgress], None],
    seconds: float,
) -> None:
    """Answers a query for so many seconds after its first epoch, while the folder that it reads fills."""
    from astralq.runtime.queries import ContinuousQuery
    from astralq.runtime.run import ContinuousRun, Settings

    (folder / "arriving").mkdir(parents=True, exist_ok=True)
    statement = read_script(text).queries[0]
    run = ContinuousRun(spark, folder / "checkpoint", Settings(), on_progress=on_progress)
    run.open([(ContinuousQuery("1", statement.operator, statement.t0, folder), sink)])
    stop = threading.Event()
    feeding = threading.Thread(target=feed, args=(ocean, folder / "arriving", stop), daemon=True)
    feeding.start()
    run.start()
    try:
        began = time.monotonic()
        while run.is_active and time.monotonic() < began + 60:  # a first epoch compiles much
            if run.last_progress is not None:
                break
            time.sleep(0.1)
        ends = time.monotonic() + seconds
        while run.is_active and time.monotonic() < ends:
            time.sleep(0.1)
    finally:
        stop.set()
        run.stop()
        run.join(None)
