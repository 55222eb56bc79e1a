"""Files of a checkpoint that nothing needs any more."""

from __future__ import annotations

import shutil

from astralq.runtime.checkpoint.folders import Folders
from astralq.runtime.checkpoint.records import Record, newest, numbers


def remove_old(folders: Folders, epoch: int, count: int) -> list[Record]:
    """Removes files that none of the last so many commits refers to; those commits, newest first."""
    commits = folders.commits
    for number in numbers(commits)[:-count]:
        (commits / f"{number}.json").unlink()
    retained = [record for _, record in newest(commits)]
    oldest = epoch - count + 1
    for number in numbers(folders.intents):
        if number < oldest:
            (folders.intents / f"{number}.json").unlink()
    used = {p["folder"] for record in retained for t in record["state"]["tables"].values() for p in t["parts"]}
    used |= {p["folder"] for record in retained for p in record["answers"].values()}
    root = folders.root
    staged = {"/".join(folder.split("/")[:2]) for folder in used if folder.startswith("out/")}
    for folder in [*root.glob("state/*/*"), *root.glob("out/*")]:
        if str(folder.relative_to(root)) not in used | staged:
            shutil.rmtree(folder, ignore_errors=True)
    began = {str(s["began"]) for record in retained for s in record["query_states"].values()} | {str(epoch + 1)}
    for folder in root.glob("stored/*"):
        if folder.name not in began:
            shutil.rmtree(folder, ignore_errors=True)
    return retained
