"""The three files of WebShop, read whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from mage_es.engine.benchmarks.records import contents
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

    items: list[RawProduct]
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
    files = _Reader(name, data_dir)
    items = files.read(ITEMS, list[RawProduct])
    instructions = files.read(INSTRUCTIONS, dict[str, Instruction])
    human = files.read(HUMAN, dict[str, list[HumanInstruction]]) if with_human else {}
    return Files(items, instructions, human, tuple(files.hashes))


class _Reader:
    """Reads one file after the other, and keeps their hashes."""

    def __init__(self, name: str, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER
        self._fetch = f"Run: mage-es data fetch {name} --data-dir {data_dir}"
        self.hashes: list[str] = []

    def read(self, file: str, kind: type[T]) -> T:
        """Return what a file holds, and take its hash down."""
        path = next((p for p in (self._folder / file, self._folder / f"{file}.gz") if p.is_file()), None)
        if path is None:
            raise PrerequisiteError(f"Neither {self._folder / file} nor {file}.gz is there. {self._fetch}")
        try:
            raw = contents(path)
            decoded = msgspec.json.decode(raw, type=kind)
        except (PrerequisiteError, msgspec.MsgspecError) as error:
            said = str(error).removeprefix(f"{path} ").rstrip(".")
            raise PrerequisiteError(f"{path}: {said}. Nothing was loaded. Delete {path}. {self._fetch}") from error
        self.hashes.append(f"{file} {hashlib.sha256(raw).hexdigest()}")
        return decoded
