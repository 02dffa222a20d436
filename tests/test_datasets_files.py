"""Graphs by name: where their files are found, how they are downloaded, and which names there are."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from test_datasets import type_counts

from gaus_lab import datasets
from gaus_lab.datasets import catalog, library
from gaus_lab.errors import DatasetError, GausLabError

pytestmark = pytest.mark.fast


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An empty data folder and an empty cache."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    monkeypatch.setenv("GAUS_LAB_DATA", str(data))
    monkeypatch.setenv("GAUS_LAB_CACHE", str(cache))
    return data, cache


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The contents of ``epfl/toy``, a name that the catalog knows for this test."""
    contents = b"aag 3 2 0 1 1\n2\n4\n6\n6 2 4\n"
    file = catalog.DataFile(
        "epfl/toy", ("epfl/toy.aag",), "https://example.org/toy.aag", hashlib.sha256(contents).hexdigest()
    )
    monkeypatch.setitem(catalog.FILES, "epfl/toy", file)
    return contents


def serve(monkeypatch: pytest.MonkeyPatch, contents: bytes | Exception) -> list[str]:
    """Let downloads give these contents or fail with this error; return the list of addresses asked for."""
    pooch = pytest.importorskip("pooch")
    asked: list[str] = []

    def downloader(url: str, output_file: str, _pooch: object) -> None:
        asked.append(url)
        if isinstance(contents, Exception):
            raise contents
        Path(output_file).write_bytes(contents)

    monkeypatch.setattr(pooch, "HTTPDownloader", lambda **settings: downloader)
    return asked


def put(path: Path, contents: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents)
    return path


def test_data_folder_comes_before_the_cache(folders, toy: bytes) -> None:
    data, cache = folders
    in_cache = put(cache / "epfl/toy.aag", toy)
    assert datasets.locate("epfl/toy") == in_cache
    in_data = put(data / "epfl/toy.aag", b"the user's own, taken as it is")
    assert datasets.locate("epfl/toy") == datasets.fetch("epfl/toy") == in_data


def test_download_goes_to_the_cache_once(folders, toy: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = serve(monkeypatch, toy)
    graph = datasets.load("epfl/toy")
    assert (graph.name, graph.n_ops) == ("epfl/toy", 3)
    datasets.load("epfl/toy")
    assert asked == ["https://example.org/toy.aag"]
    assert datasets.locate("epfl/toy") == folders[1] / "epfl/toy.aag"


@pytest.mark.parametrize(
    "answer", [b"404: not found", ConnectionError("no route to host"), OSError(28, "disk full")]
)
def test_failed_download_names_three_remedies(folders, toy: bytes, answer, monkeypatch) -> None:
    serve(monkeypatch, answer)
    with pytest.raises(DatasetError) as caught:
        datasets.load("epfl/toy")
    message = str(caught.value)
    for remedy in ("GAUS_LAB_DATA", str(folders[1] / "epfl/toy.aag"), "gaus-lab data fetch epfl/toy"):
        assert remedy in message
    assert "\n" not in message
    assert not list(folders[1].rglob("*.aag"))


def test_locate_does_not_download(folders, toy: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = serve(monkeypatch, toy)
    with pytest.raises(DatasetError, match="not on this machine.*GAUS_LAB_DATA.*data fetch"):
        datasets.locate("epfl/toy")
    assert asked == []


@pytest.mark.parametrize("use", [datasets.load, datasets.fetch, datasets.locate])
def test_wrong_contents_in_the_cache(folders, toy: bytes, use, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = serve(monkeypatch, toy)
    path = put(folders[1] / "epfl/toy.aag", toy + b" ")
    with pytest.raises(DatasetError, match="SHA-256 must be .* got .*; delete it") as caught:
        use("epfl/toy")
    assert str(path) in str(caught.value)
    assert asked == [] and path.exists()


def test_damaged_gzip_in_the_cache(folders) -> None:
    put(folders[1] / "rw/rand_graph_1000_1.gml.gz", b"\x1f\x8b\x08\x00 cut")
    with pytest.raises(DatasetError, match="must be .* got nothing readable"):
        datasets.load("rw/1000_1")


def test_local_collections(folders) -> None:
    data, cache = folders
    put(data / "express/pair.dot", b"digraph pair { a [label = mul]; b [label = add]; a -> b; }")
    put(cache / "modulo/loop.v2.json", Path(datasets.locate("mac")).read_bytes())
    assert type_counts(datasets.load("express/pair")) == {"mul": 1, "add": 1}
    assert datasets.load("modulo/loop.v2").distance.tolist() == [0, 1]
    names = [row.name for row in datasets.list_names()]
    assert {"express/pair", "modulo/loop.v2"} <= set(names)
    put(data / "express/not a name.dot", b"digraph x { a; }")
    assert sum(row.kind == "express" for row in datasets.list_names()) == 1
    with pytest.raises(DatasetError, match="not offered for download.*GAUS_LAB_DATA"):
        datasets.load("express/other")


@pytest.mark.parametrize(
    "name",
    [
        "express/../secret",
        "express/.hidden",
        "modulo/a/b",
        "express/..",
        "/no/such/file",
        "epfl/../../x",
        "express\\x",
        "modulo/\0",
        "",
        "x" * 5000,
        "hal.json",
        "express/a\n",
    ],
)
def test_names_do_not_escape(folders, name: str) -> None:
    put(folders[0] / "secret.dot", b"digraph x { a; }")
    with pytest.raises(DatasetError, match="no graph is named|there is no file"):
        datasets.load(name)
    with pytest.raises(DatasetError, match="no graph is named"):
        datasets.load_or_read(name)


def test_unknown_name_names_similar_ones() -> None:
    with pytest.raises(DatasetError, match="did you mean 'epfl/ctrl'"):
        datasets.load("epfl/ctlr")
    with pytest.raises(DatasetError, match="gaus-lab data list"):
        datasets.load("zzzzzz")
    with pytest.raises(DatasetError, match="must be text, got 7"):
        datasets.load(7)


def test_load_or_read_prefers_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert datasets.load_or_read("hal").n_ops == 11
    put(tmp_path / "diamond.json", datasets.locate("diamond").read_bytes())
    assert datasets.load_or_read("diamond.json").n_ops == 4
    assert datasets.load_or_read(tmp_path / "diamond.json").n_ops == 4
    (tmp_path / "fir").mkdir()
    assert datasets.load_or_read("fir", taps=2).n_ops == 3
    with pytest.raises(GausLabError, match="there is no file 'diamnd.json', and no graph is named"):
        datasets.load_or_read("diamnd.json")


def test_list_names() -> None:
    rows = {row.name: row for row in datasets.list_names()}
    assert rows["hal"] == ("hal", "bundled", "in the package", True)
    assert rows["fir"].where.startswith("fir(taps")
    assert sum(row.kind == "epfl" for row in rows.values()) == 20
    assert sum(row.kind == "rw" for row in rows.values()) == 18 + 9


def test_data_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GAUS_LAB_CACHE", str(tmp_path))
    assert datasets.data_path() == tmp_path
    monkeypatch.delenv("GAUS_LAB_CACHE")
    pytest.importorskip("pooch")
    assert "gaus_lab" in str(datasets.data_path())


# ---- the real files ---------------------------------------------------------------------------------------


def test_catalog_is_the_published_list(data_dir: Path) -> None:
    """The sums in the catalog are those of the files, so that a download gives the same graphs."""
    for name, file in catalog.FILES.items():
        path = datasets.locate(name)
        assert path.is_relative_to(data_dir)
        assert library.storage._sha256(path) == file.sha256, name


def test_real_files_load(data_dir: Path) -> None:
    ctrl = datasets.load("epfl/ctrl")
    assert (ctrl.name, ctrl.n_ops) == ("epfl/ctrl", 182)
    alias = datasets.load("rw/RW_3")
    assert (alias.name, alias.n_ops, int(alias.weight.sum())) == ("rw/1000_1", 949, 1134096)
    assert alias.cost.sum() == 2730 - 1638
    assert type_counts(datasets.load("express/ewf"))
    assert datasets.load("modulo/ctest-iir_biqu").n_ops == 14


def test_aliases_are_in_ascending_order_of_size(data_dir: Path) -> None:
    sizes = [datasets.load(f"rw/RW_{i}").n_ops for i in range(1, 7)]
    assert sizes == sorted(sizes)
