"""The verb `fetch`: download the data sets of benchmarks.

`SOURCE.json` beside the files records their address, licence, SHA-256 and size. A checksum is pinned only if it was
computed from the complete upstream file.
"""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from mage_es.engine.bench.dataset import is_elsewhere
from mage_es.engine.bench.download import download
from mage_es.engine.bench.finqa.benchmark import FINQA
from mage_es.engine.bench.gsm8k import GSM8K
from mage_es.engine.bench.hotpotqa.benchmark import HOTPOTQA
from mage_es.engine.bench.medqa import MEDQA
from mage_es.engine.bench.realmath.benchmark import REALMATH
from mage_es.engine.bench.stbench.benchmark import EXTENDED, STBENCH
from mage_es.engine.bench.webqa.benchmark import WEBQA
from mage_es.engine.bench.webshop import files as webshop
from mage_es.engine.benchmarks.registry import DataSource, names, open_benchmark, source_of
from mage_es.events.disk.documents import UNREADABLE
from mage_es.events.disk.opening import opened, read_small
from mage_es.events.errors import PrerequisiteError, UsageError, nearest, redacted

_HOTPOTQA = DataSource(
    base_url="http://curtis.ml.cmu.edu/datasets/hotpot",
    licence=HOTPOTQA.licence,
    files={"hotpot_train_v1.1.json": "", "hotpot_dev_distractor_v1.json": ""},
    folder="hotpotqa",
)
_STBENCH = DataSource(
    base_url="https://raw.githubusercontent.com/LwbXc/STBench/main",
    licence=STBENCH.licence,
    files={part.names[0]: "" for part in STBENCH.parts["evolution"]},
    folder="stbench",
)
_WEBSHOP = DataSource(
    # A mirror: upstream's copies are on Google Drive, which offers no direct download.
    base_url="https://huggingface.co/datasets/YWZBrandon/webshop-data/resolve/main",
    licence=webshop.LICENCE,
    files={webshop.ITEMS: "", webshop.INSTRUCTIONS: "", webshop.HUMAN: ""},
    folder=webshop.FOLDER,
    by_hand="the files on Google Drive that setup.sh of github.com/princeton-nlp/WebShop fetches",
)
SOURCES: Mapping[str, DataSource] = {
    "finqa": DataSource(
        base_url="https://raw.githubusercontent.com/czyssrs/FinQA/main/dataset",
        licence=FINQA.licence,
        files={"train.json": "", "dev.json": "", "test.json": ""},
    ),
    "gsm8k": DataSource(
        base_url="https://raw.githubusercontent.com/openai/grade-school-math/master/grade_school_math/data",
        licence=GSM8K.licence,
        files={"train.jsonl": "6043ef64147b59871f4fd3adf669c306fe0a4c27e5a5c4bfb761f3f084895a13", "test.jsonl": ""},
    ),
    "hotpotqa": _HOTPOTQA,
    "hotpotqa-fullwiki": _HOTPOTQA._replace(files={"hotpot_train_v1.1.json": "", "hotpot_dev_fullwiki_v1.json": ""}),
    "hotpotqa-levels": _HOTPOTQA,
    "medqa": DataSource(
        base_url="https://huggingface.co/datasets/GBaker/MedQA-USMLE-4-options/resolve/main",
        licence=MEDQA.licence,
        files={"phrases_no_exclude_train.jsonl": "", "phrases_no_exclude_test.jsonl": ""},
        by_hand="the zip on Google Drive that the README of github.com/jind11/MedQA links to; unpack its folder "
        "data_clean/questions/US/4_options there",
    ),
    "realmath": DataSource(
        # Hugging Face's Parquet copy: its file names follow a rule, those of the uploaded files do not.
        base_url="https://huggingface.co/datasets/ethz-spylab/RealMath/resolve/refs%2Fconvert%2Fparquet/default",
        licence=REALMATH.licence,
        files={f"{subset}/0000.parquet": "" for subset in ("Math_arXiv", "CS_arXiv", "Math_StackExchange")},
    ),
    "stbench": _STBENCH,
    "stbench-extended": _STBENCH._replace(files={part.names[0]: "" for part in EXTENDED.parts["evolution"]}),
    "stbench-merged": _STBENCH,
    # The records on Hugging Face are the same, but these have ids and a fixed commit.
    "webqa": DataSource(
        base_url="https://raw.githubusercontent.com/brmson/dataset-factoid-webquestions/"
        "668890853388010fe6ae9a5eb035a7917b88933b",
        licence=WEBQA.licence,
        files={f"main/{name}.json": "" for name in ("trainmodel", "val", "devtest", "test")},
    ),
    **dict.fromkeys(("webshop-100", "webshop-100-by-index", "webshop-100-rich"), _WEBSHOP),
    **dict.fromkeys(("webshop-1000", "webshop-1000-by-index", "webshop-1000-human", "webshop-1000-rich"), _WEBSHOP),
}


class FetchedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a data set: `size` and `resumed` in bytes; `is_new` is False if it was already there."""

    name: str
    path: str
    url: str
    sha256: str
    size: int
    resumed: int = 0
    is_new: bool = True
    is_pinned: bool = False


class _SourceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What `SOURCE.json` holds."""

    benchmark: str
    licence: str
    files: tuple[FetchedFile, ...]


def fetch(
    name: str, data_dir: Path, *, base_url: str | None = None, announce: Callable[[str], None]
) -> tuple[FetchedFile, ...]:
    """Download a benchmark's files into its folder of `data_dir` and check that they can be read.

    `base_url` replaces the public address; `announce` gets the licence and the progress, one line each.

    Raises:
        UsageError: The benchmark is unknown, is generated and needs no data, or comes from another package.
        PrerequisiteError: No network, a missing file, a full disk, a wrong checksum, or unreadable content.
    """
    if name not in names():
        raise UsageError(f"There is no benchmark {name!r}.{nearest(name, names())}")
    source = source_of(name)
    if source is None:
        raise UsageError(_unfetched(name))
    if base_url is not None and redacted(base_url) != base_url:
        raise UsageError(f"{redacted(base_url)}: the address is recorded and must hold no key, name or password.")
    if base_url is not None:
        source = source._replace(base_url=base_url.rstrip("/"))
    folder = data_dir / (source.folder or name)
    files = fetch_source(name, source, folder, announce=announce)
    benchmark = open_benchmark(name, seed=0, data_dir=data_dir)
    counts = ", ".join(f"{len(benchmark.questions(split))} {split}" for split in ("evolution", "test"))
    announce(f"{name}: {counts} questions in {folder}")
    return files


def _unfetched(name: str) -> str:
    if is_elsewhere(name):
        return (
            f"{name} comes from another package, whose documentation says where its data is. Once you have it, run: "
            f"mage-es evolve {name} --data-dir FOLDER"
        )
    return f"{name} is generated and needs no data: run mage-es evolve {name}"


def fetch_source(
    name: str, source: DataSource, folder: Path, *, announce: Callable[[str], None]
) -> tuple[FetchedFile, ...]:
    announce(f"{name}: licence {source.licence}")
    if source.by_hand:
        announce(f"{name}: this is a copy; upstream has {source.by_hand}: {folder}")
    known = {file.name: file for file in _recorded(folder)}
    files: list[FetchedFile] = []
    for file, pin in source.files.items():
        url, target = f"{source.base_url}/{file}", folder / file
        there = known.get(file)
        if there and there.url == url and pin in ("", there.sha256) and _sha256(target) == there.sha256:
            announce(f"{target} exists already")
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
        _record(folder, _SourceRecord(benchmark=name, licence=source.licence, files=tuple(files)))
    return tuple(files)


def _sha256(path: Path) -> str:
    if not path.is_file():
        return ""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _recorded(folder: Path) -> tuple[FetchedFile, ...]:
    """Return the files that `SOURCE.json` lists; none if it is missing or malformed, so that all are fetched again."""
    try:
        return msgspec.json.decode(read_small(folder / "SOURCE.json"), type=_SourceRecord).files
    except (OSError, *UNREADABLE):
        return ()


def _record(folder: Path, record: _SourceRecord) -> None:
    draft = folder / "SOURCE.json.part"
    try:
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
        draft.replace(folder / "SOURCE.json")
    except OSError as error:
        raise PrerequisiteError(f"{draft} cannot be written: {error}. Free some space and try again.") from error
