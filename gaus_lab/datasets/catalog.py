"""The files that are known by name: where they lie, where they come from, and what their contents must be."""

from __future__ import annotations

import re
from dataclasses import dataclass

_EPFL_URL = "https://raw.githubusercontent.com/lsils/benchmarks/94e25f33b9bcbaa155e20ceedc6f6dc45bdffddf"
_RW_URL = (
    "https://raw.githubusercontent.com/Yu-Maryland/Differentiable_Scheduler_ICML24/"
    "1a7805a754ecae7a3e67106d5083c29c298e985a/graphgml"
)

#: SHA-256 of the binary AIGER files, by path in the EPFL repository.
_EPFL_SHA256 = {
    "arithmetic/adder": "60a28c90dc413ab479e07aba13185ae71ab7ffd3fd256c5e631212ee46170bcd",
    "arithmetic/bar": "28a3d895fe2821d4dcd04230751a059cb31ff5e28285a61ff7778cf71fb61da3",
    "arithmetic/div": "e65955ae0931e5c7ed91a6210f0f6e6b7bd95eaeef1ffddcfb3e7ec633ed5d82",
    "arithmetic/hyp": "b0be478cd838b5fb7bb91ee695aae9e5e8a6ddb3035f965461bb709c21386549",
    "arithmetic/log2": "146f031921372d0dc47c73ad2c82ce4e7413caff725204b7938a4cf61b1f15cb",
    "arithmetic/max": "9a7c45c95cec2afbfd418468d8b5ff6a33161c591892e34ba34ff6ed3fbbb1a9",
    "arithmetic/multiplier": "543555652101e587c1d1b18a38eb18dfebcb5f85e63e35c781361aa26888946e",
    "arithmetic/sin": "e1a649d2eca27337787cb4aed79abe120f49597975beaed8bffd6a329c2664b3",
    "arithmetic/sqrt": "2fdf59877a0f1ceba46a2a3aca5457e05c47ac24ceb69839a4c12d071cf62300",
    "arithmetic/square": "c3fe8598cf501743043cf573b7226478a06be9dfb180d17bca77cdfbe667d784",
    "random_control/arbiter": "0eacc0a97717bbc91f732ce6814bbfcdefa8a0b65b13ade6f002e35d0e585d82",
    "random_control/cavlc": "125e0fdeb41ccadac5e6ada71f3c416fd026cfcbc8e75ad1c6b57ddc2b100f31",
    "random_control/ctrl": "9da22b9ba9917569878d750926623d3920a4cd985a0980cc65763c5d3ac0e78b",
    "random_control/dec": "38def606e795975e469273411ee9217bc43656c57e6f6eeda3ea640452fa3443",
    "random_control/i2c": "3f6ab413a3f745c87811fa6565d972146f1f4e6ede78fae71fcb16e469b9b213",
    "random_control/int2float": "ad280bdb8331591998b8184ff70ad00d31184649c245796965fc6777e3016bab",
    "random_control/mem_ctrl": "390d601836717129b903a5ecc8fd96b41d322d26895d666b303c64b796bd0d1d",
    "random_control/priority": "9123187c4169189f53f17a84367c4bd5f749b13298f9619ef601c5de4ee90678",
    "random_control/router": "fe8d13d4efe05fc3400ab8c94c0d1ce07ee24dd2ec106f7ae3d24e962e80efbd",
    "random_control/voter": "10ea098f4fca120ba55dd1abd5fab34d6a4df6099c4f411bc8592a27f9caf324",
}

#: SHA-256 of the uncompressed GML files of the random workloads.
_RW_SHA256 = {
    "1000_1": "b123277e9ea6dc7b35cb981316f14437e30bbcf736f49860a51746176b699556",
    "1000_2": "754b7e0234dd7c98c2b99c0cdc39d64aed4cfb1836d3b6d53a5280f49d62d70f",
    "1000_3": "b06a673d1063b3077d076cb15b8e07e36c62e55dd74e608ca345951f0beb2f3a",
    "5000_1": "d12130d3114dc8f973625ccbfc00e25962351dc58ddf1e42bcd56f34e90b2420",
    "5000_2": "049e673332b92d198f749ecaa10393272820e504c1b232276203f734681f7e19",
    "5000_3": "e46e3c3587160e67e30fb4a44f87fd5c11afb5f033be103b7cc9ff3d5bbd11d0",
    "10000_1": "082176b460b0592ce56c26c22444942862629d2f4a21a9f65208d66e2aaadf2c",
    "10000_2": "ff16eb9aec7ffdcda969ebe17bc6ac201cb97f167b01e10602be1e82315cfa36",
    "10000_3": "4040de2eb3d25da5f8e7c70fd6c98d7c602024547b0c8fc7a48a5ae7db4827cf",
    "sparse_1000_1": "42c460cfb2ba982ac8da5beb80d39edfad6cebe933f62c1236de9e7f5df160f7",
    "sparse_1000_2": "3562fc898e99f53a86fd552f597b303e335fde9bea2b76827dc922e27e0c71e9",
    "sparse_1000_3": "c7e9a5089ce37218f566bc41ece95be65e679d25c41de39b2943770b22ffd80b",
    "sparse_5000_1": "8c6cb824946360885601eb178154459fda360fa3e6dde421ed52ed25ba271e61",
    "sparse_5000_2": "d6eb45380f95347160eacdc3fc7e24ac658cd61aaf5231453e5c75ccef8bd7d6",
    "sparse_5000_3": "c65818ca5c6f9dece43a7c5166f727a55cfdf7f8694a8ca093bb9e9415d1fc17",
    "sparse_10000_1": "c87072cebffd1f4cbf05d50d0b30bfa956211bd7699fd5e74df51f5d6f88f9ab",
    "sparse_10000_2": "8b49b74de3d50ddbf162a3ef7344ba69838fbd685b46a4f6c6399c937126bc5f",
    "sparse_10000_3": "54e1b460c708e0f3201da2d66c68cf73de28e2ddd0ae2a39f7e1befcc26eb019",
}

#: The paper's numbering of the nine workloads that are not sparse: by number of operations.
_RW_NUMBERS = (
    "1000_3",
    "1000_2",
    "1000_1",
    "5000_1",
    "5000_2",
    "5000_3",
    "10000_3",
    "10000_1",
    "10000_2",
)

ALIASES = {f"rw/RW_{number}": f"rw/{file}" for number, file in enumerate(_RW_NUMBERS, start=1)}

#: Collections without a download: kind -> suffix of its files.
LOCAL_KINDS = {"express": ".dot", "modulo": ".json"}

# One path segment that neither starts with a dot nor holds a separator: a name cannot leave its folder.
_LOCAL_NAME = re.compile(r"(express|modulo)/([A-Za-z0-9_][A-Za-z0-9_.-]*)")


@dataclass(frozen=True)
class DataFile:
    """A graph file known by name.

    Attributes
    ----------
    name : str
        Such as ``epfl/ctrl``.
    paths : tuple of str
        Where it may lie below the data folder and the cache, the place of a download first.
    url, sha256 : str or None
        None where there is nothing to download from, or nothing to compare with. The sum is that of the
        uncompressed contents.
    """

    name: str
    paths: tuple[str, ...]
    url: str | None = None
    sha256: str | None = None

    @property
    def kind(self) -> str:
        """The collection: the part of the name before the slash."""
        return self.name.partition("/")[0]


def _epfl(path: str, sha256: str) -> DataFile:
    name = f"epfl/{path.partition('/')[2]}"
    return DataFile(name, (f"epfl/{path}.aig",), f"{_EPFL_URL}/{path}.aig", sha256)


def _rw(file: str, sha256: str) -> DataFile:
    gml = f"rand_graph_{file}.gml"
    return DataFile(f"rw/{file}", (f"rw/{gml}", f"rw/{gml}.gz"), f"{_RW_URL}/{gml}", sha256)


FILES = {
    file.name: file
    for file in (
        *(_epfl(path, sha256) for path, sha256 in _EPFL_SHA256.items()),
        *(_rw(file, sha256) for file, sha256 in _RW_SHA256.items()),
    )
}


def data_file(name: str) -> DataFile | None:
    """Return the file that a name stands for, None if no collection has such a name.

    Examples
    --------
    >>> data_file("rw/RW_1").name
    'rw/1000_3'
    >>> data_file("express/../secret") is None
    True
    """
    name = ALIASES.get(name, name)
    if name in FILES:
        return FILES[name]
    local = _LOCAL_NAME.fullmatch(name)
    if local is None:
        return None
    kind, stem = local.groups()
    return DataFile(name, (f"{kind}/{stem}{LOCAL_KINDS[kind]}",))
