"""The three files of WebShop, read whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from mage_es.engine.benchmarks.dataset import Part, find
from mage_es.engine.benchmarks.records import contents
from mage_es.engine.environments.webshop.catalogue import HumanInstruction, Instruction, RawProduct
from mage_es.events.errors import PrerequisiteError

FOLDER = "webshop"
"""The folder of both benchmarks in the data directory."""
LICENCE = "MIT (github.com/princeton-nlp/WebShop)"
ITEMS = Part(("items_shuffle_1000.json", "items_shuffle.json"))
INSTRUCTIONS = Part(("items_ins_v2_1000.json", "items_ins_v2.json"))
HUMAN = Part(("items_human_ins.json",), optional=True)

T = TypeVar("T")


class Files(NamedTuple):
    """What the files hold, and a line for each with its name and the SHA-256 of its (decompressed) bytes."""

    items: list[RawProduct]
    instructions: Mapping[str, Instruction]
    human: Mapping[str, list[HumanInstruction]]
    hashes: tuple[str, ...]


def read_files(data_dir: Path | None) -> Files:
    """Read the files of `data_dir/webshop`. Raises `PrerequisiteError` that names the file and what is wrong in it."""
    hashes: list[str] = []
    items = _read(ITEMS, data_dir, list[RawProduct], hashes)
    instructions = _read(INSTRUCTIONS, data_dir, dict[str, Instruction], hashes)
    human = _read(HUMAN, data_dir, dict[str, list[HumanInstruction]], hashes)
    return Files(items or [], instructions or {}, human or {}, tuple(hashes))


def _read(part: Part, data_dir: Path | None, kind: type[T], hashes: list[str]) -> T | None:
    path = find(part, FOLDER, data_dir)
    if path is None:
        return None
    try:
        raw = contents(path)
        decoded = msgspec.json.decode(raw, type=kind)
    except (PrerequisiteError, msgspec.MsgspecError) as error:
        assert data_dir is not None
        raise PrerequisiteError(
            f"{path}: {str(error).rstrip('.')}. Nothing was loaded. Delete {data_dir / FOLDER} and run: "
            f"mage-es data fetch {FOLDER} --data-dir {data_dir}"
        ) from error
    hashes.append(f"{part.names[0]} {hashlib.sha256(raw).hexdigest()}")
    return decoded
