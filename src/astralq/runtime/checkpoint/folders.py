"""The checkpoint directory: what is where, and that only one run uses it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from astralq.errors import AstralError

VERSION = 3
"""Of the format of checkpoints. 2: state tables are named by digests. 3: records and folders have new names."""


class CheckpointError(AstralError):
    """A checkpoint cannot be used for this run."""


@dataclass(frozen=True)
class Folders:
    """The places in a checkpoint directory.

    >>> Folders(Path("/c")).batch("s", 3)
    PosixPath('/c/in/s/3')
    """

    root: Path

    @property
    def intents(self) -> Path:
        """One record for each epoch: what it takes in, and up to where."""
        return self.root / "intent"

    @property
    def commits(self) -> Path:
        """One record for each epoch that is done."""
        return self.root / "commit"

    def batch(self, source: str, batch: int) -> Path:
        """The rows of one batch of a source, as they came."""
        return self.root / "in" / source / str(batch)

    def manifests(self, source: str) -> Path:
        """One record for each batch that is there as a whole."""
        return self.root / "in" / source / "manifest"

    def rejected(self, source: str, batch: int) -> Path:
        """Rows that cannot be used, with the reason."""
        return self.root / "rejected" / source / str(batch)

    def refused(self, source: str, query: str, epoch: int) -> Path:
        """Rows that one query cannot use, with the reason."""
        return self.root / "rejected" / source / f"{query}-{epoch}"

    def late(self, source: str, query: str, epoch: int) -> Path:
        """Tuples that came after their instant had been released."""
        return self.root / "late" / source / f"{query}-{epoch}"

    def stored(self, query: str, source: str) -> Path:
        """A stored relation as it was when the query began."""
        return self.root / "stored" / query / source

    def reader(self, source: str) -> Path:
        """Spark's own notes on what it has read."""
        return self.root / "spark" / source

    def readings(self, source: str) -> Path:
        """What each sensor gave at each tick."""
        return self.root / "sensed" / source

    def state(self, query: str, edge: str, epoch: int, part: str) -> Path:
        return self.root / "state" / query / edge / f"{epoch}-{part}"

    def staged(self, query: str, epoch: int) -> Path:
        """An epoch's answer before it is published."""
        return self.root / "out" / query / str(epoch)

    def set_published(self, epoch: int) -> None:
        """Notes that an epoch has been published; a note that is lost only means that it is published again."""
        note = self.root / "published.new"
        note.write_text(str(epoch))
        note.replace(self.root / "published")

    def is_published(self, epoch: int) -> bool:
        note = self.root / "published"
        return note.exists() and note.read_text() == str(epoch)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps all others out, until the process ends."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise CheckpointError(
                    f"another run uses the checkpoint {self.root}",
                    hint="stop it, or give each run a directory of its own",
                ) from None
            self._check_version()
            for folder in (self.intents, self.commits):
                folder.mkdir(exist_ok=True)
            yield

    def _check_version(self) -> None:
        """A checkpoint is gone on with by a program that names its tables and records as this one does."""
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
