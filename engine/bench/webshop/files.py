"""The three files of WebShop, read whole or not at all."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from mage_es.engine.bench.webshop.catalogue import HumanInstruction, ProductInstruction, RawProduct
from mage_es.engine.benchmarks.records import read_mapping, read_records
from mage_es.events.errors import PrerequisiteError

FOLDER = "webshop"
"""The folder of both benchmarks in the data directory."""
LICENCE = "MIT (github.com/princeton-nlp/WebShop)"
ITEMS, INSTRUCTIONS, HUMAN = "items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json"
"""Upstream's names; the last file is needed only for goals that people wrote."""

T = TypeVar("T")


class ShopFiles(NamedTuple):
    """`hashes` has a line for each file: its name and the SHA-256 of its decompressed bytes."""

    items: tuple[RawProduct, ...]
    instructions: Mapping[str, ProductInstruction]
    human: Mapping[str, list[HumanInstruction]]
    hashes: tuple[str, ...]


def read_files(name: str, data_dir: Path | None, *, with_human: bool) -> ShopFiles:
    """Read the files of `data_dir/webshop`, plain or gzipped. [section 4, WebShop, the catalogue]

    Raises `PrerequisiteError`, which says how to fetch it for `name`.
    """
    if data_dir is None:
        raise PrerequisiteError(
            f"{name} is read from files and no data directory was given. Run: mage-es fetch {name} --data-dir data"
        )
    folder, fetch = data_dir / FOLDER, f"Run: mage-es fetch {name} --data-dir {data_dir}"
    hashes: list[str] = []

    def whole(file: str, read: Callable[[Path], tuple[T, str]]) -> T:
        path = next((each for each in (folder / file, folder / f"{file}.gz") if each.is_file()), None)
        if path is None:
            raise PrerequisiteError(f"Neither {folder / file} nor {file}.gz exists. {fetch}")
        try:
            found, sha256 = read(path)
        except PrerequisiteError as error:
            raise PrerequisiteError(f"{error} Delete {path}. {fetch}") from error
        hashes.append(f"{file} {sha256}")
        return found

    items = whole(ITEMS, lambda path: read_records(path, RawProduct, lambda _, product: product))
    instructions = whole(INSTRUCTIONS, lambda path: read_mapping(path, ProductInstruction))
    human = whole(HUMAN, lambda path: read_mapping(path, list[HumanInstruction])) if with_human else {}
    return ShopFiles(items, instructions, human, tuple(hashes))
