"""Tasks from the Hugging Face hub, read with its own library, an optional dependency."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mage_es.events.errors import PrerequisiteError

INSTALL = "python -m pip install datasets"


def read_hub(name: str, *, subset: str) -> tuple[Mapping[str, Sequence[Mapping[str, Any]]], str]:
    """Return the rows of each split of a data set (or a local folder of one), and a hash of them all.

    Raises `PrerequisiteError` if the library is not installed or cannot load the data set.
    """
    if importlib.util.find_spec("datasets") is None:
        raise PrerequisiteError(f"hf:{name} needs the library `datasets`, which is not installed: {INSTALL}")
    import datasets

    try:
        loaded = datasets.load_dataset(name, subset or None)
    except Exception as error:  # the library raises what its many back ends raise
        raise PrerequisiteError(
            f"hf:{name} cannot be loaded: {type(error).__name__}: {error}. Check the name, whether it needs "
            "a subset (--subset), and the network; or download the data set and give the file."
        ) from error
    splits = {split: [dict(row) for row in rows] for split, rows in loaded.items()}
    return splits, hashlib.sha256(msgspec.json.encode(splits, enc_hook=str)).hexdigest()
