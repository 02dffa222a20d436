"""Writing is all or nothing: whatever goes wrong, the old file stays and nothing lies beside it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gaus_lab import files
from gaus_lab.errors import GausLabError
from gaus_lab.files import atomic
from gaus_lab.files.atomic import write_atomically
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast

posix = pytest.mark.skipif(
    os.name != "posix", reason="permissions, links and devices as POSIX systems have them"
)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "g.json"
    path.write_text("old")
    return path


def refused(path: str | os.PathLike[str], data: str | bytes = "new") -> str:
    with pytest.raises(GausLabError) as caught:
        write_atomically(path, data)
    message = str(caught.value)
    assert message.isprintable() and "cannot write the file: " in message
    return message.split("cannot write the file: ")[1]


def untouched(old: Path) -> bool:
    return old.read_text() == "old" and [p.name for p in old.parent.iterdir()] == [old.name]


def test_new_file(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", "text ä")
    write_atomically(str(tmp_path / "b"), b"\x00\xff")
    assert (tmp_path / "a").read_bytes() == "text ä".encode()
    assert (tmp_path / "b").read_bytes() == b"\x00\xff"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_existing_file_is_replaced(old: Path) -> None:
    write_atomically(old, "new")
    assert old.read_text() == "new" and len(list(old.parent.iterdir())) == 1


def test_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomically("x.json", "new")
    assert (tmp_path / "x.json").read_text() == "new"


@posix
def test_permissions(tmp_path: Path, old: Path) -> None:
    old.chmod(0o640)
    write_atomically(old, "new")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    mask = os.umask(0o027)
    try:
        write_atomically(tmp_path / "fresh", "new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640


@posix
def test_links_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("there", "not yet"):
        link = tmp_path / f"link to {name}"
        link.symlink_to(folder / name)
        write_atomically(link, "first")
        write_atomically(link, name)
        assert link.is_symlink() and (folder / name).read_text() == name
    assert sorted(p.name for p in folder.iterdir()) == ["not yet", "there"]


def test_missing_folder(tmp_path: Path) -> None:
    assert refused(tmp_path / "no" / "x.json") == "No such file or directory; nothing was written there"
    assert not list(tmp_path.iterdir())


def test_file_in_the_place_of_a_folder(old: Path) -> None:
    assert refused(old / "x.json") == "Not a directory; nothing was written there"
    assert untouched(old)


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    for path in (inner, f"{inner}/", ".", "..", ""):
        assert refused(path) == "it is a folder; give a file name"
    assert [p.name for p in tmp_path.iterdir()] == ["inner"] and not list(inner.iterdir())


def test_impossible_names(tmp_path: Path) -> None:
    assert refused(tmp_path / ("n" * 300)) == "File name too long; nothing was written there"
    assert refused("a\0b").endswith("null byte")
    assert not list(tmp_path.iterdir())


def test_long_names_that_are_possible(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("ä" * 120), "new")
    assert len(list(tmp_path.iterdir())) == 1


def test_text_that_is_none(old: Path) -> None:
    assert "surrogates not allowed" in refused(old, "\ud800")
    assert untouched(old)


def test_write_protected_file(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old.chmod(0o444)
    real = os.access  # a superuser may write everything, a test may run as one
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != old and real(path, mode))
    assert refused(old) == "it is write-protected; choose another name"
    assert untouched(old)


def test_folder_that_may_not_be_written(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(atomic, "open", denied, raising=False)
    assert refused(old) == "Permission denied; nothing was written there"
    assert untouched(old)


@posix
def test_full_disk(old: Path) -> None:
    code = (
        "import resource, sys\n"
        "from gaus_lab.errors import GausLabError\n"
        "from gaus_lab.files.atomic import write_atomically\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    write_atomically(sys.argv[1], 'x' * 100_000)\n"
        "except GausLabError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, old], capture_output=True, text=True, check=True)
    assert run.stdout == f"{old}: cannot write the file: File too large; nothing was written there\n"
    assert untouched(old)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_devices() -> None:
    write_atomically("/dev/null", "new")
    assert refused("/dev/full").startswith("No space left on device")


@posix
def test_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    write_atomically(pipe, "through")
    assert reader.communicate(timeout=10)[0] == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("moment", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, OSError(5, "Input/output error"), MemoryError])
def test_interrupts(
    moment: str, interrupt: BaseException | type, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object) -> None:
        raise interrupt

    monkeypatch.setattr(os, moment, stop)
    expected = GausLabError if isinstance(interrupt, OSError) else interrupt
    with pytest.raises(expected):
        write_atomically(old, "new")
    assert untouched(old)


def test_a_graph_that_cannot_be_written_leaves_the_old_file(old: Path) -> None:
    bad = Graph.build(["a"]).replace(attributes={"x": {1}})
    for graph, format in [(bad, "json"), (Graph.build([" "]), "edgelist"), (Graph.build(["\ud800"]), "json")]:
        with pytest.raises(GausLabError):
            files.write(graph, old, format)
    assert untouched(old)
