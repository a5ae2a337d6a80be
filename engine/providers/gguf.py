"""What a GGUF file's header says about its model, read without loading it.

The header, little-endian, has the number of tensors and the number of values, then a list of names and values
(https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
"""

import struct
from collections.abc import Callable, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

from mage_es.events.disk.opening import opened

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_BYTES_OF_A_NUMBER = 2
"""Bytes of a number in the keys and values of past tokens, which have 16 bits."""


def read_head(path: Path) -> Mapping[str, Any]:
    """Return the values by name, lists as tuples.

    Raises `ValueError` for a file of another format or with a damaged head, and `OSError` for one that cannot be read.
    """
    size = path.stat().st_size
    with BufferedReader(opened(path)) as file:

        def taken(count: int) -> bytes:
            data = file.read(count) if count <= size else b""
            if len(data) < count:
                raise ValueError(f"it ends after {size} bytes, within its head: it was cut")
            return data

        if (magic := file.read(4)) != b"GGUF":
            raise ValueError(f"it begins with {magic!r} and not with 'GGUF'")
        taken(struct.calcsize("<IQ"))  # the version, and how many tensors there are
        return {_text(taken): _value(taken, _number(taken, "I")) for _ in range(_number(taken, "Q"))}


def _number(taken: Callable[[int], bytes], form: str) -> Any:
    return struct.unpack(f"<{form}", taken(struct.calcsize(f"<{form}")))[0]


def _text(taken: Callable[[int], bytes]) -> str:
    return taken(_number(taken, "Q")).decode("utf-8", "replace")


def _value(taken: Callable[[int], bytes], kind: int) -> Any:
    if kind == _TEXT:
        return _text(taken)
    if kind == _LIST:
        of, count = _number(taken, "I"), _number(taken, "Q")
        return tuple(_value(taken, of) for _ in range(count))
    if kind not in _SCALARS:
        raise ValueError(f"its head holds a value of the unknown kind {kind}: it is damaged")
    return _number(taken, _SCALARS[kind])


def trained_context(head: Mapping[str, Any]) -> int:
    """Return the length in tokens of the context that a model was trained with, 0 if its file does not say."""
    return int(head.get(f"{head.get('general.architecture')}.context_length", 0))


def bytes_of_a_token(head: Mapping[str, Any]) -> int:
    """Return the bytes that keys and values of a token take in all layers, 0 if the file does not say. Layers that see
    only a window take less."""
    kind = head.get("general.architecture")

    def value(name: str, default: Any = 0) -> Any:
        return head.get(f"{kind}.{name}", default)

    heads = value("attention.head_count")
    kept = value("attention.head_count_kv", heads)
    layers = sum(kept) if isinstance(kept, tuple) else kept * value("block_count")
    most = max(heads) if isinstance(heads, tuple) else heads
    width = value("embedding_length") // most if most else 0
    pair = value("attention.key_length", width) + value("attention.value_length", width)
    return int(layers * pair * _BYTES_OF_A_NUMBER)
