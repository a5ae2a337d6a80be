"""Fetching WebShop: two benchmarks, one folder."""

from pathlib import Path

import msgspec

from mage_es.engine.bench.fetching import fetch
from mage_es.engine.benchmarks.registry import names
from tests.engine.bench.webshop.small import raw, write_files

ENTRY = msgspec.to_builtins(raw("B000000001"))


def test_all_its_benchmarks_are_fetched_into_one_folder_from_a_place_that_serves_the_files(
    server, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    write_files(tmp_path / "there", [ENTRY], {"B000000001": {"instruction": "Find", "instruction_attributes": ["a"]}})
    for name in ("items_shuffle_1000.json", "items_ins_v2_1000.json"):
        server.content[f"/{name}"] = (tmp_path / "there" / "webshop" / name).read_bytes()
    server.content["/items_human_ins.json"] = b"{}"
    said: list[str] = []
    for name in [name for name in names() if name.startswith("webshop")]:
        files = fetch(name, tmp_path / "data", base_url=server.url, announce=said.append)
        assert {Path(file.path).parent for file in files} == {tmp_path / "data" / "webshop"}
    assert [file.is_new for file in files] == [False] * 3
    assert said[0] == "webshop-100: licence MIT (github.com/princeton-nlp/WebShop)"
