"""Damaged and malicious files: always a graph or one clear error, soon, and without much memory."""

from __future__ import annotations

import gzip
import os
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from graph_files import checked, refused, refused_file

from gaus_lab import files
from gaus_lab.errors import GraphError
from gaus_lab.files import source

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore::gaus_lab.errors.GausLabWarning")]

SMALL = {
    "json": b'{"format": "gaus-lab/graph", "version": 1, "name": "g", "op_types": {"mul": {"latency": 2}},'
    b' "ops": [{"name": "a", "type": "mul", "x": [1, {"y": null}]}, "b"],'
    b' "edges": [{"src": "a", "dst": "b", "distance": 1, "cost": 0.5}], "limits": {"mul": 1}}\n',
    "aiger": b"aag 6 2 1 3 2 1 0 1 1\n2\n4\n6 10\n8\n0\n8\n10\n2\n8\n4\n6\n8 4 2\n10 9 6\ni0 a\no0 y\nc\nend\n",
    "aiger binary": b"aig 6 3 1 2 2\n12\n10\n0\n\x02\x02\x03\x81\x00i0 a\nc\nx\n",
    "blif": b".model m\n.inputs a \\\n b\n.outputs y\n.latch y q re clk 2\n.names a b q y # c\n1-1 1\n"
    b".names k\n1\n.end\n",
    "gml": b'Creator "x"\ngraph [ directed 1 label "g"\n'
    b' node [ id 0 label "a &amp; b" parameter 3 graphics [ x 1.5 ] ]\n'
    b' node [ id 1 label "b" latency 2 ]\n edge [ source 0 target 1 parameter 7 distance 1 ]\n # c\n]\n',
    "graphml": b'<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    b'<key id="k" for="node" attr.name="latency" attr.type="int"><default>2</default></key>\n'
    b'<graph id="g" edgedefault="directed"><node id="a"><data key="k">3</data></node><node id="b&amp;"/>\n'
    b'<edge source="a" target="b&amp;"><data key="distance">1</data></edge></graph></graphml>\n',
    "dot": b'digraph "g" { node [w=1]; a [label=<<b>x</b>>, latency=2]; "b c" -> {a; d:p} [cost=0.5]; /* x */\n'
    b" subgraph s { edge [y=2] a -> d -> e } // z\n# end\n}\n",
    "edgelist": b'src,dst,latency\na,"b, c",2\n# x\nlonely,\na,d,\n',
}  # fmt: skip


def format_of(kind: str) -> str:
    return kind.split()[0]


def opens(data: bytes, format: str) -> bool:
    """Return whether the bytes hold a graph; anything but a graph or a proper `GraphError` fails the test."""
    try:
        files.loads(data, format, "f")
    except GraphError as error:
        checked(str(error), "f")
        return False
    return True


@pytest.mark.parametrize("kind", SMALL)
def test_truncations(kind: str) -> None:
    data = SMALL[kind]
    assert opens(data, format_of(kind))
    outcomes = [opens(data[:length], format_of(kind)) for length in range(len(data))]
    assert not outcomes[0] and not all(outcomes)


def mutants(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield damaged copies: bytes changed, removed, repeated, moved, and words swapped for awkward ones."""
    rng = random.Random(seed)
    words = [b"-1", b"1e9", b"99999999999999999999", b"nan", b'"', b"\\", b"[", b"]", b"{", b"}", b"<", b">", b"\0",
             b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b" ", b"0", b"->", b"&", b"\x80\x80", b".end", b"/*"]  # fmt: skip
    for _ in range(count):
        mutant = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            i, j = sorted(rng.randrange(len(mutant) + 1) for _ in range(2))
            j = min(j, i + 12)
            change = rng.randrange(5)
            if change == 0 and i < len(mutant):
                mutant[i] = rng.randrange(256)
            elif change == 1:
                del mutant[i:j]
            elif change == 2:
                mutant[i:i] = mutant[i:j]
            elif change == 3:
                mutant[i:j] = rng.choice(words)
            else:
                k = rng.randrange(len(mutant) + 1)
                mutant[k:k] = mutant[i:j]
        yield bytes(mutant)


@pytest.mark.parametrize("kind", SMALL)
def test_mutations(kind: str) -> None:
    outcomes = [opens(mutant, format_of(kind)) for mutant in mutants(SMALL[kind], 1_000, seed=20_260_227)]
    assert any(outcomes) and not all(outcomes)


@pytest.mark.parametrize("kind", SMALL)
def test_each_format_meets_the_others(kind: str) -> None:
    for format in files.FORMATS:
        opens(SMALL[kind], format)


@pytest.mark.parametrize("format", files.FORMATS)
def test_bytes_that_are_no_text(format: str) -> None:
    rng = random.Random(5)
    for length in (1, 2, 7, 100, 1_000):
        opens(rng.randbytes(length), format)
        opens(b"\0" * length, format)
    if format != "graphml":  # XML tells its own encoding
        for encoding in ("utf-16", "utf-16-le", "utf-32"):
            assert not opens(SMALL[format].decode().encode(encoding), format)


def test_messages_about_encodings() -> None:
    assert refused("digraph { ä }".encode("utf-16"), "dot") == "1: the text is UTF-16; save it as UTF-8"
    assert refused(b"digraph {\n a\0 }", "dot") == "2: a zero byte: this is no text file"
    assert refused(b"digraph {\n\n \xe4 }", "dot") == "3: byte 0xe4 is not UTF-8; save the text as UTF-8"
    assert refused(b"\xef\xbb\xbf{\n\xff", "json") == "2: byte 0xff is not UTF-8; save the text as UTF-8"


# ---- large --------------------------------------------------------------------------------------------------


MIB = 2**20
DEEP = 100_000
LARGE = {
    "json lists": ("json", '{"ops": ' + "[" * DEEP),
    "json objects": ("json", '{"ops": ' * DEEP),
    "json closed": ("json", '{"ops": [], "x": ' + "[" * DEEP + "]" * DEEP + "}"),
    "json digits": ("json", '{"ops": [], "x": ' + "1" * MIB + "}"),
    "json exponent": ("json", '{"ops": [{"name": "a", "weight": 1e' + "9" * MIB + "}]}"),
    "json text": ("json", '{"a": "' + "x" * MIB),
    "json long names": ("json", '{"ops": ["' + "n" * MIB + '", "' + "n" * MIB + '"]}'),
    "gml blocks": ("gml", "graph [ directed 1 " + "a [ " * DEEP),
    "gml closed": ("gml", "graph [ directed 1 " + "a [ " * DEEP + "]" * DEEP + "]"),
    "gml brackets": ("gml", "[" * MIB),
    "gml quote": ("gml", 'graph [ a "' + "x" * MIB),
    "gml quotes": ("gml", "graph [ a " + '"' * (MIB + 1)),
    "gml digits": ("gml", "graph [ directed " + "1" * MIB),
    "gml entity": ("gml", 'graph [ directed 1 directed "&#' + "9" * MIB + ';" ]'),
    "gml entities": ("gml", 'graph [ directed 1 directed "' + "&amp" * (MIB // 4) + '" ]'),
    "graphml elements": ("graphml", "<graphml>" + "<a>" * DEEP),
    "graphml graphs": ("graphml", "<graphml><graph>" + "<node id='x'><graph>" * DEEP),
    "graphml attribute": ("graphml", '<a b="' + "x" * MIB),
    "graphml comment": ("graphml", "<a><!--" + " -" * (MIB // 2)),
    "dot braces": ("dot", "digraph " + "{" * DEEP),
    "dot closed": ("dot", "digraph {" + "{" * DEEP + "}" * DEEP + "}"),
    "dot quote": ("dot", 'digraph { "' + "x" * MIB),
    "dot escapes": ("dot", 'digraph { "' + '\\"' * (MIB // 2)),
    "dot html": ("dot", "digraph { a [x=" + "<" * (MIB // 4)),
    "dot comment": ("dot", "digraph { /*" + "/*" * (MIB // 2)),
    "dot digits": ("dot", "digraph { " + "1" * MIB + "x"),
    "aiger digits": ("aiger", "aag " + "1" * 10 * MIB),
    "aiger header": ("aiger", "aag " + "1 " * 5 * MIB),
    "aiger symbol": ("aiger", "aag 0 0 0 0 0\ni0" + "i" * 10 * MIB),
    "aiger code": ("aiger", b"aig 1000000 0 0 0 1000000\n" + b"\x80" * 3 * MIB),
    "aiger numbers": ("aiger", b"aig 1 0 0 0 1\n" + b"\x80" * MIB + b"\0\0"),
    "blif row": ("blif", ".model m\n.inputs a\n.names a y\n" + "1" * MIB + " 1\n"),
    "blif signal": ("blif", ".model m\n.inputs " + "a" * MIB + "\n.inputs " + "a" * MIB),
    "edge list cell": ("edgelist", 'a,"' + "x" * MIB),
    "edge list commas": ("edgelist", "," * MIB),
    "edge list digits": ("edgelist", "a b " + "1" * MIB),
}  # fmt: skip


@pytest.mark.parametrize("case", LARGE)
def test_large_and_bad(case: str) -> None:
    format, text = LARGE[case]
    begin = time.perf_counter()
    refused(text, format)
    assert time.perf_counter() - begin < 3  # a quadratic one takes minutes


@pytest.mark.parametrize(
    "form",
    ["aag {0} {0} 0 0 0", "aag {0} 0 {0} 0 0", "aag {0} 0 0 {0} 0", "aag {0} 0 0 0 {0}", "aag 0 0 0 0 0 {0}",
     "aag 0 0 0 0 0 0 {0}", "aag 0 0 0 0 0 0 0 {0}", "aag 0 0 0 0 0 0 0 0 {0}", "aag {0} 0 0 0 0\n2",
     "aag 0 0 0 0 0 0 0 1\n{0}", "aig {0} {0} 0 0 0", "aig {0} 0 {0} 0 0", "aig 0 0 0 {0} 0", "aig {0} 0 0 0 {0}",
     "aig 0 0 0 0 0 0 0 {0}"],
)  # fmt: skip
@pytest.mark.parametrize("count", [10**9, 10**11])
def test_headers_that_promise_much(form: str, count: int) -> None:
    tracemalloc.start()
    try:
        refused(form.format(count) + "\n", "aiger")
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


def test_a_large_index_allocates_nothing() -> None:
    tracemalloc.start()
    try:
        assert files.loads("aag 100000000000 1 0 0 0\n200000000000\n", "aiger").ops == ("v100000000000",)
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


# ---- archives -----------------------------------------------------------------------------------------------


def test_archive_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_BYTES", 4 * MIB)
    bomb = gzip.compress(b"\0" * 64 * MIB)
    assert len(bomb) < 100_000
    tracemalloc.start()
    try:
        assert refused(bomb, "json") == "the archive unpacks to more than 4194304 bytes"
        assert (
            refused(gzip.compress(b" " * MIB) * 5, "json") == "the archive unpacks to more than 4194304 bytes"
        )
        assert tracemalloc.get_traced_memory()[1] < 20 * MIB
    finally:
        tracemalloc.stop()
    (tmp_path / "x.json").write_bytes(b" " * (5 * MIB))
    assert refused_file(tmp_path / "x.json") == "the file has more than 4194304 bytes, the most that is read"


def test_archives() -> None:
    whole = gzip.compress(SMALL["dot"])
    assert opens(whole, "dot") and opens(whole + b"\0" * 512, "dot")
    halves = gzip.compress(SMALL["dot"][:50]) + gzip.compress(SMALL["dot"][50:])
    assert opens(halves, "dot")
    assert refused(gzip.compress(whole), "dot").endswith("is not UTF-8; save the text as UTF-8")
    damaged = bytearray(whole)
    damaged[-6] ^= 1
    assert "the gzip archive is damaged" in refused(bytes(damaged), "dot")
    assert "the gzip archive is damaged (something else follows it)" in refused(whole + b"x", "dot")
    for length in range(2, len(whole)):
        assert "the gzip archive is" in refused(whole[:length], "dot")


def test_many_members() -> None:
    data = gzip.compress(b"", mtime=0) * 50_000 + gzip.compress(SMALL["json"])
    begin = time.perf_counter()
    assert opens(data, "json")
    assert time.perf_counter() - begin < 3


# ---- what is no file ----------------------------------------------------------------------------------------


def test_missing_files_and_folders(tmp_path: Path) -> None:
    assert (
        refused_file(tmp_path / "no.json")
        == "cannot read the file: No such file or directory; check the path"
    )
    assert refused_file(tmp_path) == "cannot read the file: Is a directory; check the path"
    (tmp_path / "f").touch()
    assert refused_file(tmp_path / "f/x") == "cannot read the file: Not a directory; check the path"
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    assert refused_file(loop) == "cannot read the file: Too many levels of symbolic links; check the path"
    with pytest.raises(GraphError, match="cannot read the file: embedded null byte; check the path"):
        files.read("a\0.json")
    long = tmp_path / ("n" * 300)
    with pytest.raises(GraphError, match="cannot read the file: File name too long; check the path"):
        files.read(long)


def test_empty_files(tmp_path: Path) -> None:
    for form in files.FORMATS.values():
        path = tmp_path / f"empty{form.suffixes[0]}"
        path.touch()
        assert refused_file(path)
    (tmp_path / "empty").touch()
    assert refused_file(tmp_path / "empty").startswith("neither the suffix nor the content tells the format")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="this system has no /dev/zero")
def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_BYTES", 4 * MIB)
    assert refused_file("/dev/null").startswith("neither the suffix nor the content tells the format")
    assert refused_file("/dev/zero") == "the file has more than 4194304 bytes, the most that is read"


def test_paths_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "ä b.json"
    path.write_text('{"ops": ["a"]}')
    for way in (path, str(path), os.fsencode(path)):
        assert files.read(way).name == "ä b"
    (tmp_path / "two\nlines.json").write_text("{}")
    with pytest.raises(GraphError, match=r"two\\nlines.json: the key 'ops' is missing"):
        files.read(tmp_path / "two\nlines.json")
