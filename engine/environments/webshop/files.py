"""The three files of WebShop, read whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from mage_es.engine.benchmarks.records import read_mapping, read_records
from mage_es.engine.environments.webshop.catalogue import HumanInstruction, Instruction, RawProduct
from mage_es.events.errors import PrerequisiteError

FOLDER = "webshop"
"""The folder of both benchmarks in the data directory."""
LICENCE = "MIT (github.com/princeton-nlp/WebShop)"
ITEMS, INSTRUCTIONS, HUMAN = "items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json"
"""Upstream's names; the last file is needed for people's goals only."""

T = TypeVar("T")


class Files(NamedTuple):
    """What the files hold, and a line for each with its name and the SHA-256 of its (decompressed) bytes."""

    items: tuple[RawProduct, ...]
    instructions: Mapping[str, Instruction]
    human: Mapping[str, list[HumanInstruction]]
    hashes: tuple[str, ...]


def read_files(name: str, data_dir: Path | None, *, with_human: bool) -> Files:
    """Read the files of `data_dir/webshop`, plain or gzipped.

    Raises:
        PrerequisiteError: One is missing or malformed; it is named, with what is wrong and how to fetch it for `name`.
    """
    if data_dir is None:
        raise PrerequisiteError(
            f"{name} is read from files and no data directory was given. Run: mage-es data fetch {name} --data-dir data"
        )
    hashes: list[str] = []

    def whole(file: str, read: Callable[[Path], tuple[T, str]]) -> T:
        """Return what a file holds, and take its hash down."""
        found, sha256 = _whole(name, data_dir, file, read)
        hashes.append(f"{file} {sha256}")
        return found

    items = whole(ITEMS, lambda path: read_records(path, RawProduct, lambda _, product: product))
    instructions = whole(INSTRUCTIONS, lambda path: read_mapping(path, Instruction))
    human = whole(HUMAN, lambda path: read_mapping(path, list[HumanInstruction])) if with_human else {}
    return Files(items, instructions, human, tuple(hashes))


def _whole(name: str, data_dir: Path, file: str, read: Callable[[Path], tuple[T, str]]) -> tuple[T, str]:
    """Return what a file holds, and its hash. Raises `PrerequisiteError` with the command that fetches it."""
    folder, fetch = data_dir / FOLDER, f"Run: mage-es data fetch {name} --data-dir {data_dir}"
    path = next((each for each in (folder / file, folder / f"{file}.gz") if each.is_file()), None)
    if path is None:
        raise PrerequisiteError(f"Neither {folder / file} nor {file}.gz is there. {fetch}")
    try:
        return read(path)
    except PrerequisiteError as error:
        raise PrerequisiteError(f"{error} Delete {path}. {fetch}") from error
