"""Where data files lie on this machine, and how they come here."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from gaus_lab.checks import short
from gaus_lab.datasets.catalog import DataFile
from gaus_lab.errors import DatasetError

#: Environment variables: a folder with all data files, and one in place of the user's cache.
DATA_VARIABLE = "GAUS_LAB_DATA"
CACHE_VARIABLE = "GAUS_LAB_CACHE"

_TIMEOUT = 60  # seconds without an answer


def data_path() -> Path:
    """Return the folder that downloads go to: ``$GAUS_LAB_CACHE``, else the user's cache of this package."""
    override = os.environ.get(CACHE_VARIABLE)
    if override:
        return Path(override)
    import pooch

    return Path(pooch.os_cache("gaus_lab"))


def data_folder() -> Path | None:
    """Return the folder that ``$GAUS_LAB_DATA`` names, None if it is not set."""
    folder = os.environ.get(DATA_VARIABLE)
    return Path(folder) if folder else None


def find(file: DataFile) -> Path | None:
    """Return the path of a file in the data folder or the cache, None if it is in neither.

    The data folder is the user's own and taken as it is; a file in the cache must have the right contents.

    Raises
    ------
    DatasetError
        The file in the cache is another one, or damaged.
    """
    path = place(file)
    folder = data_folder()
    if path is not None and not (folder and path.is_relative_to(folder)):
        _check_contents(path, file)
    return path


def place(file: DataFile) -> Path | None:
    """Return where a file lies, unchecked: in the data folder, else in the cache, else None."""
    folders = (data_folder(), data_path())
    places = (folder / path for folder in folders if folder is not None for path in file.paths)
    return next((path for path in places if path.is_file()), None)


def download(file: DataFile) -> Path:
    """Return the path of a file in the cache after downloading it there.

    A download is written beside its place, compared with its SHA-256, and only then moved there.

    Raises
    ------
    DatasetError
        Nothing to download from, no connection, or other contents than expected; names the remedies.
    """
    if file.url is None or file.sha256 is None:
        raise missing(file, "it is not offered for download")
    target = data_path() / file.paths[0]
    import pooch

    # Its progress lines would come between the rows and the one-line errors of the command line.
    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.sha256}",
            fname=target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(timeout=_TIMEOUT),
        )
    except (OSError, ValueError) as error:  # no connection, HTTP status, full disk; wrong hash
        raise missing(file, f"the download from {file.url} failed ({short(error, 120, str)})") from error
    return target


def missing(file: DataFile, reason: str) -> DatasetError:
    """Return the error for a file that cannot be had, with what to do about it."""
    folder = data_folder()
    state = f"{folder} has no {file.paths[-1]}" if folder else "not set"
    remedies = [
        f"set {DATA_VARIABLE} to a folder that has {' or '.join(file.paths)} (now: {state})",
        f"put the file at {data_path() / file.paths[0]}",
    ]
    if file.url is not None:
        remedies.append(f"connect to the network and run `gaus-lab data fetch {file.name}`")
    return DatasetError(f"graph {file.name!r} is not on this machine, and {reason}: {', or '.join(remedies)}")


def local_names(kind: str, suffix: str) -> Iterator[str]:
    """Yield the names of a collection's files that lie in the data folder or the cache, sorted."""
    stems: set[str] = set()
    for folder in (data_folder(), data_path()):
        if folder is not None:
            stems.update(path.name.removesuffix(suffix) for path in (folder / kind).glob(f"*{suffix}"))
    return (f"{kind}/{stem}" for stem in sorted(stems))


def _check_contents(path: Path, file: DataFile) -> None:
    if file.sha256 is None:
        return
    try:
        found = _sha256(path)
    except (OSError, EOFError, zlib.error) as error:
        found = f"nothing readable ({error})"
    if found != file.sha256:
        raise DatasetError(
            f"{path} is not the file that {file.name!r} names: its SHA-256 must be {file.sha256}, "
            f"got {found}; delete it and run `gaus-lab data fetch {file.name}`"
        )


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a file's uncompressed contents."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
