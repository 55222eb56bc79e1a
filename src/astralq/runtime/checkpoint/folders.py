"""The checkpoint directory: its layout, its lock, and the version of its format."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from astralq.errors import AstralError

VERSION = 5
"""The version of the format. 2: state tables are named by digests. 3: folders and keys of records have new
names; the plan of each query is kept. 4: queries may have state tables in common. 5: variances
are sums; sums over [RANGE x] go on; parts of tables know which instants they are for."""


LOOKS = 3
"""How often a lock is tried before another run has it."""


class CheckpointError(AstralError):
    """A checkpoint cannot be used for this run."""


@dataclass(frozen=True)
class Folders:
    """The paths in a checkpoint directory.

    >>> Folders(Path("/c")).batch("s", 3)
    PosixPath('/c/in/s/3')
    """

    root: Path

    @property
    def intents(self) -> Path:
        """One record for each epoch that was started: its offsets and target watermarks."""
        return self.root / "intent"

    @property
    def commits(self) -> Path:
        """One record for each epoch that is complete."""
        return self.root / "commit"

    def batch(self, source: str, batch: int) -> Path:
        """The rows of one batch in the ingest log of a source."""
        return self.root / "in" / source / str(batch)

    def manifests(self, source: str) -> Path:
        """One record for each batch that is complete."""
        return self.root / "in" / source / "manifest"

    def rejected(self, source: str, batch: int) -> Path:
        """Rows of a batch that no query can use, with the reason."""
        return self.root / "rejected" / source / str(batch)

    def refused(self, source: str, query: str, epoch: int) -> Path:
        """Rows that one query cannot use, with the reason."""
        return self.root / "rejected" / source / f"{query}-{epoch}"

    def late(self, source: str, query: str, epoch: int) -> Path:
        """Tuples that came after the query's watermark had passed them."""
        return self.root / "late" / source / f"{query}-{epoch}"

    def stored(self, epoch: int, source: str) -> Path:
        """A stored relation as it was in an epoch in which queries began."""
        return self.root / "stored" / str(epoch) / source

    def reader(self, source: str) -> Path:
        """Spark's checkpoint of a source's streaming query."""
        return self.root / "spark" / source

    def readings(self, source: str) -> Path:
        """Readings of sensors that are not in the ingest log yet."""
        return self.root / "sensed" / source

    def state(self, table: str, epoch: int, part: str) -> Path:
        """One part of a state table."""
        return self.root / "state" / table / f"{epoch}-{part}"

    def staged(self, epoch: int, name: str) -> Path:
        """Answers of an epoch before they are published: of one query, or a folder with one for each of several."""
        return self.root / "out" / str(epoch) / name

    def set_published(self, epoch: int) -> None:
        """Notes that an epoch has been published. If the note is lost, the epoch is published again."""
        note = self.root / "published.new"
        note.write_text(str(epoch))
        note.replace(self.root / "published")

    def is_published(self, epoch: int) -> bool:
        note = self.root / "published"
        return note.exists() and note.read_text() == str(epoch)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the checkpoint against other runs; the lock ends with the process."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "lock").open("w") as handle:
            for attempt in range(LOOKS):
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    # Who only looks whether a run goes on has the lock for a moment.
                    if attempt + 1 < LOOKS:
                        time.sleep(0.1)
                        continue
                    raise CheckpointError(
                        f"another run uses the checkpoint {self.root}",
                        hint="stop it, or give each run a directory of its own",
                    ) from None
            self._check_version()
            for folder in (self.intents, self.commits):
                folder.mkdir(exist_ok=True)
            yield

    def _check_version(self) -> None:
        """Refuses a checkpoint of another format; one without a version is of the first."""
        note = self.root / "version"
        if not note.exists() and not (self.commits.is_dir() and any(self.commits.iterdir())):
            note.write_text(f"{VERSION}\n")
            return
        written = note.read_text().strip() if note.exists() else "1"
        if written != str(VERSION):
            raise CheckpointError(
                f"the checkpoint {self.root} has the format {written}, and this is astralq with the format {VERSION}",
                hint="end it with the astralq that began it (start --once), then begin with a directory of its own",
            )
