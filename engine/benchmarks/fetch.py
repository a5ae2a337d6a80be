"""Fetching the data sets that benchmarks are read from.

What is fetched is recorded beside it in `SOURCE.json`: address, licence, and each file's SHA-256 and size.
A checksum is pinned only where the whole upstream file was at hand when it was written down.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.dataset import is_elsewhere
from mage_es.engine.benchmarks.download import download
from mage_es.engine.benchmarks.finqa.benchmark import FINQA
from mage_es.engine.benchmarks.gsm8k import GSM8K
from mage_es.engine.benchmarks.hotpotqa.benchmark import HOTPOTQA
from mage_es.engine.benchmarks.medqa import MEDQA
from mage_es.engine.benchmarks.realmath.benchmark import REALMATH
from mage_es.engine.benchmarks.registry import names, open_benchmark
from mage_es.engine.benchmarks.stbench.benchmark import EXTENDED, STBENCH
from mage_es.engine.benchmarks.webqa.benchmark import WEBQA
from mage_es.engine.environments.webshop import files as webshop
from mage_es.events.errors import PrerequisiteError, UsageError, nearest


class Source(NamedTuple):
    """Where a data set is: its public address, its licence, and its files with their SHA-256 ("" if not pinned)."""

    base_url: str
    licence: str
    files: Mapping[str, str]
    folder: str = ""
    """Where it goes, below the folder of all data sets; "" is the benchmark's name."""
    by_hand: str = ""
    """Where upstream itself has it, if only for a download by hand."""


_HOTPOTQA = Source(
    base_url="http://curtis.ml.cmu.edu/datasets/hotpot",
    licence=HOTPOTQA.licence,
    files={"hotpot_train_v1.1.json": "", "hotpot_dev_distractor_v1.json": ""},
    folder="hotpotqa",
)
_STBENCH = Source(
    base_url="https://raw.githubusercontent.com/LwbXc/STBench/main",
    licence=STBENCH.licence,
    files={part.names[0]: "" for part in STBENCH.parts["evolution"]},
    folder="stbench",
)
_WEBSHOP = Source(
    # Upstream's own copies lie on Google Drive, which has no address that a plain download could use; this is a mirror.
    base_url="https://huggingface.co/datasets/YWZBrandon/webshop-data/resolve/main",
    licence=webshop.LICENCE,
    files={webshop.ITEMS: "", webshop.INSTRUCTIONS: "", webshop.HUMAN: ""},
    folder=webshop.FOLDER,
    by_hand="the files on Google Drive that setup.sh of github.com/princeton-nlp/WebShop fetches",
)
SOURCES: dict[str, Source] = {
    "finqa": Source(
        base_url="https://raw.githubusercontent.com/czyssrs/FinQA/main/dataset",
        licence=FINQA.licence,
        files={"train.json": "", "dev.json": "", "test.json": ""},
    ),
    "gsm8k": Source(
        base_url="https://raw.githubusercontent.com/openai/grade-school-math/master/grade_school_math/data",
        licence=GSM8K.licence,
        files={
            "train.jsonl": "6043ef64147b59871f4fd3adf669c306fe0a4c27e5a5c4bfb761f3f084895a13",
            "test.jsonl": "",
        },
    ),
    "hotpotqa": _HOTPOTQA,
    "hotpotqa-fullwiki": _HOTPOTQA._replace(files={"hotpot_train_v1.1.json": "", "hotpot_dev_fullwiki_v1.json": ""}),
    "hotpotqa-levels": _HOTPOTQA,
    "medqa": Source(
        base_url="https://huggingface.co/datasets/GBaker/MedQA-USMLE-4-options/resolve/main",
        licence=MEDQA.licence,
        files={"phrases_no_exclude_train.jsonl": "", "phrases_no_exclude_test.jsonl": ""},
        by_hand="the zip on Google Drive that the README of github.com/jind11/MedQA links to; unpack its folder "
        "data_clean/questions/US/4_options there",
    ),
    "realmath": Source(
        # Hugging Face's own Parquet copy, whose names follow a rule; those of the files that were uploaded do not.
        base_url="https://huggingface.co/datasets/ethz-spylab/RealMath/resolve/refs%2Fconvert%2Fparquet/default",
        licence=REALMATH.licence,
        files={f"{subset}/0000.parquet": "" for subset in ("Math_arXiv", "CS_arXiv", "Math_StackExchange")},
    ),
    "stbench": _STBENCH,
    "stbench-extended": _STBENCH._replace(files={part.names[0]: "" for part in EXTENDED.parts["evolution"]}),
    "stbench-merged": _STBENCH,
    "webqa": Source(  # the records of Hugging Face and of the original are the same; these have ids, and a fixed commit
        base_url="https://raw.githubusercontent.com/brmson/dataset-factoid-webquestions/"
        "668890853388010fe6ae9a5eb035a7917b88933b",
        licence=WEBQA.licence,
        files={f"main/{name}.json": "" for name in ("trainmodel", "val", "devtest", "test")},
    ),
    **dict.fromkeys(("webshop-100", "webshop-100-by-index", "webshop-100-rich"), _WEBSHOP),
    **dict.fromkeys(("webshop-1000", "webshop-1000-by-index", "webshop-1000-human", "webshop-1000-rich"), _WEBSHOP),
}


class FetchedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a data set: `size` and `resumed` in bytes; `is_new` is False if it was there already."""

    name: str
    path: str
    url: str
    sha256: str
    size: int
    resumed: int = 0
    is_new: bool = True
    is_pinned: bool = False


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """What `SOURCE.json` holds."""

    benchmark: str
    licence: str
    files: tuple[FetchedFile, ...]


def fetch(
    name: str, data_dir: Path, *, base_url: str | None = None, announce: Callable[[str], None]
) -> tuple[FetchedFile, ...]:
    """Download a benchmark's files into its folder of `data_dir` and check that they can be read.

    Args:
        name: The benchmark.
        data_dir: Folder of all data sets; made if it is not there.
        base_url: Address to use in place of the public one, such as a mirror's.
        announce: Told of the licence and of what is going on, one line each.

    Raises:
        UsageError: No benchmark has that name, it is generated and needs no data, or another package offers it.
        PrerequisiteError: No network, no such file, no room, a wrong checksum, or unreadable content.
    """
    if name not in names():
        raise UsageError(f"There is no benchmark {name!r}.{nearest(name, names())}")
    if not is_fetched(name):
        raise UsageError(_unfetched(name))
    source = SOURCES[name]
    if base_url is not None:
        source = source._replace(base_url=base_url.rstrip("/"))
    folder = data_dir / (source.folder or name)
    files = fetch_source(name, source, folder, announce=announce)
    benchmark = open_benchmark(name, seed=0, data_dir=data_dir)
    counts = ", ".join(f"{len(benchmark.questions(split))} {split}" for split in ("evolution", "test"))
    announce(f"{name}: {counts} questions in {folder}")
    return files


def is_fetched(name: str) -> bool:
    """Return whether there is an address here from which `fetch` gets a benchmark's data."""
    return name in SOURCES


def is_absent(name: str, data_dir: Path) -> bool:
    """Return whether nothing is there of a benchmark whose data could be fetched, not even its folder."""
    return is_fetched(name) and not (data_dir / (SOURCES[name].folder or name)).exists()


def _unfetched(name: str) -> str:
    if is_elsewhere(name):
        return (
            f"The package that offers {name} says where its data is; there is no address of it here. With the folder "
            f"that holds the data run: mage-es evolve {name} --data-dir FOLDER"
        )
    return f"{name} is generated and needs no data: run mage-es evolve {name}"


def fetch_source(
    name: str, source: Source, folder: Path, *, announce: Callable[[str], None]
) -> tuple[FetchedFile, ...]:
    """Download the files of a source into a folder and record them in its `SOURCE.json`."""
    announce(f"{name}: licence {source.licence}")
    if source.by_hand:
        announce(f"{name}: this is a copy; upstream has {source.by_hand}: {folder}")
    known = {file.name: file for file in _recorded(folder)}
    files: list[FetchedFile] = []
    for file, pin in source.files.items():
        url, target = f"{source.base_url}/{file}", folder / file
        there = known.get(file)
        if there and there.url == url and pin in ("", there.sha256) and _sha256(target) == there.sha256:
            announce(f"{target} is there already")
            files.append(msgspec.structs.replace(there, path=str(target), resumed=0, is_new=False))
            continue
        announce(f"{url} -> {target}")
        got = download(url, target, sha256=pin, announce=announce)
        announce(f"{target}: {got.size} bytes, SHA-256 {got.sha256}{' as expected' if pin else ''}")
        files.append(
            FetchedFile(
                name=file, path=str(target), url=url, sha256=got.sha256, size=got.size, resumed=got.resumed,
                is_pinned=bool(pin),
            )
        )  # fmt: skip
        _record(folder, _Record(benchmark=name, licence=source.licence, files=tuple(files)))
    return tuple(files)


def _sha256(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _recorded(folder: Path) -> tuple[FetchedFile, ...]:
    """Return what `SOURCE.json` holds; nothing if it is missing or not ours, and then all is fetched anew."""
    try:
        return msgspec.json.decode((folder / "SOURCE.json").read_bytes(), type=_Record).files
    except (OSError, msgspec.MsgspecError):
        return ()


def _record(folder: Path, record: _Record) -> None:
    draft = folder / "SOURCE.json.part"
    try:
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
        draft.replace(folder / "SOURCE.json")
    except OSError as error:
        raise PrerequisiteError(f"{draft} cannot be written: {error}. Make room and run the command again.") from error
