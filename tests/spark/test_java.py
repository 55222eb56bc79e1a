"""The Java that we start: its options, and the archive of Spark's classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from astralq.spark import java


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java whose version can be read, and an environment without an archive."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.15"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "environment"))
    return tmp_path


@pytest.mark.usefixtures("home")
def test_without_an_archive_only_small_runs_have_options() -> None:
    assert java.options(little=False) == ""
    assert java.options(little=True) == "-XX:TieredStopAtLevel=1"


@pytest.mark.usefixtures("home")
def test_an_archive_is_used_and_says_nothing() -> None:
    path = java.archive()
    assert path is not None
    path.parent.mkdir(parents=True)
    path.touch()
    assert java.options(little=False) == f'-XX:SharedArchiveFile="{path}" -Xshare:auto -Xlog:disable'


def test_another_java_has_another_archive(home: Path) -> None:
    before = java.archive()
    (home / "release").write_text('JAVA_VERSION="21.0.1"')
    assert java.archive() != before


def test_a_java_that_does_not_tell_its_version_has_none(home: Path) -> None:
    (home / "release").unlink()
    assert java.archive() is None
    assert java.options(little=False) == ""


def test_an_archive_that_is_there_is_not_made_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = java.archive()
    assert path is not None
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.setattr(java, "_run_samples", lambda _: pytest.fail("it is there"))
    assert java.make_archive() == path


def test_old_archives_go_when_another_one_is_made(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "environment" / "share" / "astralq"
    folder.mkdir(parents=True)
    (folder / "classes-old.jsa").touch()

    def written(options: str) -> None:
        Path(options.split('"')[1]).touch()

    monkeypatch.setattr(java, "_run_samples", written)
    assert [java.make_archive()] == list(folder.iterdir())
