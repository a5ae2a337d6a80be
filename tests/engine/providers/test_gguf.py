import struct
from pathlib import Path

import pytest

from mage_es.engine.providers.gguf import bytes_of_a_token, read_head, trained_context


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words.encode())) + words.encode()


def head(**values: bytes) -> bytes:
    """Return the head of a file; each value begins with its kind."""
    rows = b"".join(text(name.replace("__", ".")) + value for name, value in values.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)) + rows


def number(value: int) -> bytes:
    return struct.pack("<II", 4, value)


def words(value: str) -> bytes:
    return struct.pack("<I", 8) + text(value)


def numbers(*values: int) -> bytes:
    return struct.pack(f"<IIQ{len(values)}i", 9, 5, len(values), *values)


MODEL = {
    "general__architecture": words("tiny"),
    "tiny__context_length": number(2048),
    "tiny__block_count": number(4),
    "tiny__embedding_length": number(64),
    "tiny__attention__head_count": number(8),
}


def written(folder: Path, data: bytes) -> Path:
    (file := folder / "model.gguf").write_bytes(data)
    return file


def test_a_head_has_its_values_by_name(tmp_path: Path) -> None:
    found = read_head(written(tmp_path, head(**MODEL, names=struct.pack("<IIQ", 9, 8, 2) + text("a") + text("ö"))))
    assert found["tiny.context_length"] == trained_context(found) == 2048
    assert found["names"] == ("a", "ö")


def test_a_token_takes_a_key_and_a_value_in_each_layer(tmp_path: Path) -> None:
    assert bytes_of_a_token(read_head(written(tmp_path, head(**MODEL)))) == 4 * 8 * (8 + 8) * 2
    fewer = {**MODEL, "tiny__attention__head_count_kv": number(2), "tiny__attention__key_length": number(16)}
    assert bytes_of_a_token(read_head(written(tmp_path, head(**fewer)))) == 4 * 2 * (16 + 8) * 2
    by_layer = {**MODEL, "tiny__attention__head_count_kv": numbers(2, 0, 2, 0)}
    assert bytes_of_a_token(read_head(written(tmp_path, head(**by_layer)))) == 4 * (8 + 8) * 2


def test_what_is_no_gguf_or_cut_or_damaged_is_refused(tmp_path: Path) -> None:
    whole = head(**MODEL)
    for end in range(4, len(whole)):
        with pytest.raises(ValueError, match=f"it ends after {end} bytes"):
            read_head(written(tmp_path, whole[:end]))
    with pytest.raises(ValueError, match="begins with b'PK' and not with 'GGUF'"):
        read_head(written(tmp_path, b"PK"))
    with pytest.raises(ValueError, match="unknown kind 77"):
        read_head(written(tmp_path, head(odd=struct.pack("<I", 77))))
