"""Reading the three files: under their download names, plain or gzipped, all or nothing."""

import gzip
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.bench.webshop.files import read_files
from mage_es.events.errors import PrerequisiteError
from tests.engine.bench.webshop.small import DATA, needs_data, raw, write_files

ENTRY = msgspec.to_builtins(raw("B000000001"))


def test_gzipped_files_hold_the_same_and_hash_the_same(tmp_path: Path) -> None:
    plain = read_files("webshop-100", write_files(tmp_path, [ENTRY], {}), with_human=False)
    for path in list((tmp_path / "webshop").iterdir()):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert read_files("webshop-100", tmp_path, with_human=False) == plain
    assert [line.partition(" ")[0] for line in plain.hashes] == ["items_shuffle_1000.json", "items_ins_v2_1000.json"]


def test_what_is_missing_is_named_with_the_command_that_fetches_it(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        with pytest.raises(PrerequisiteError, match="Run: mage-es fetch webshop-100 --data-dir"):
            read_files("webshop-100", folder, with_human=False)
    write_files(tmp_path, [ENTRY], {})
    with pytest.raises(PrerequisiteError, match="items_human_ins"):
        read_files("webshop-100", tmp_path, with_human=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[{", "truncated"),
        ('[{"asin": "B1"}]', r"record 1 \(line 1\): .*missing required field `name`"),
        ('[\n{"asin": 1}]', r"record 1 \(line 2\): Expected `str`, got `int` - at `\$.asin`"),
        (
            msgspec.json.encode([{**ENTRY, "customization_options": {"Size": [{"image": None}]}}]).decode(),
            r"record 1 \(line 1\): .*missing required field `value` - at `\$.customization_options",
        ),
        ("{}", "missing required field `asin`"),
    ],
)
def test_a_malformed_product_is_named_with_place_and_field_and_nothing_is_loaded(
    tmp_path: Path, content: str, said: str
) -> None:
    write_files(tmp_path, [ENTRY], {})
    (tmp_path / "webshop" / "items_shuffle_1000.json").write_text(content)
    with pytest.raises(PrerequisiteError, match=f"(?s)items_shuffle_1000.json.*{said}.*Nothing was loaded") as caught:
        read_files("webshop-100", tmp_path, with_human=False)
    assert str(caught.value).endswith(f"Run: mage-es fetch webshop-100 --data-dir {tmp_path}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"B1": {', "truncated"),
        ("[]", "expected {"),
        ('{"B1": {},\n "B2": {"attributes": [1]}}', r"B2 \(line 2\): Expected `str`, got `int` - at `\$.attributes"),
    ],
)
def test_a_malformed_instruction_is_named_by_its_product(tmp_path: Path, content: str, said: str) -> None:
    write_files(tmp_path, [ENTRY], {})
    (tmp_path / "webshop" / "items_ins_v2_1000.json").write_text(content)
    with pytest.raises(PrerequisiteError, match=f"(?s)items_ins_v2_1000.json.*{said}.*Nothing was loaded"):
        read_files("webshop-100", tmp_path, with_human=False)


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    write_files(tmp_path, [ENTRY], {})
    (tmp_path / "webshop" / "items_ins_v2_1000.json").unlink()
    (tmp_path / "webshop" / "items_ins_v2_1000.json.gz").write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(PrerequisiteError, match=r"items_ins_v2_1000\.json\.gz cannot be read"):
        read_files("webshop-100", tmp_path, with_human=False)


@needs_data
def test_the_real_files_are_read() -> None:
    files = read_files("webshop-1000", DATA, with_human=True)
    assert (len(files.items), len(files.instructions), len(files.hashes)) == (1000, 1000, 3)
    assert sum(entry.instruction is not None for entry in files.instructions.values()) == 311
