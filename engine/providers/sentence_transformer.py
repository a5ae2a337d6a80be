"""`sentence-transformers/<name or folder>`: a transformer that runs here, such as the paper's all-MiniLM-L6-v2.

Rules
    - The same text gives the same bytes, whatever else is in the call: each text goes through the model alone and on
      one thread, since the order of the sums in a matrix product depends on its number of rows and on the threads. On
      small machines one thread is also faster, because several threads wait for each other far longer than they work.
    - Text beyond the model's own limit (all-MiniLM-L6-v2: 256 tokens) is ignored, as everywhere with these models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.embedders.vectors import PROBES, VectorCache, sketch, unit
from mage_es.engine.seams.embedder import Vectors
from mage_es.engine.seams.faults import shortened
from mage_es.engine.seams.spec import ModelSpec
from mage_es.events.digests import sha256_text
from mage_es.events.errors import PrerequisiteError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer as Transformer


class SentenceTransformer:
    """[section 3.5, embedding model] A text goes through the model alone and on one thread: in a batch of 64 nearly
    every vector differs in its last bits. Option: `device`, where the model runs, in torch's words, by default `cpu`.
    """

    OPTIONS = ("device",)

    def __init__(self, spec: ModelSpec) -> None:
        self.name = spec.text
        self._model = _load(spec)
        self._alone = Lock()  # a tokenizer is not thread-safe, and the number of torch's threads is per process
        probed = self._raw(PROBES)
        self.dimension = probed.shape[1]
        self._cache = VectorCache(self._raw, self.dimension)
        self.sha256 = sha256_text(f"{_weights(self._model)} {sketch(unit(probed))}")

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._cache.encode(texts)

    def _raw(self, texts: Sequence[str]) -> NDArray[np.float64]:
        with self._alone, _one_thread():
            return np.stack([self._model.encode([text], show_progress_bar=False)[0] for text in texts]).astype(
                np.float64
            )


def _load(spec: ModelSpec) -> Transformer:
    try:
        from sentence_transformers import SentenceTransformer as Transformer
        from transformers.utils.logging import disable_progress_bar
    except ImportError as error:
        raise PrerequisiteError(
            f"{spec.text} needs the package sentence-transformers: "
            "python -m pip install 'mage-es[sentence-transformers]'"
        ) from error
    disable_progress_bar()
    try:
        return Transformer(spec.model, device=spec.options.get("device", "cpu"))
    except (OSError, RuntimeError, ValueError) as error:
        raise PrerequisiteError(
            f"{spec.text} cannot be loaded: {shortened(str(error))}. Name a model of the hub that this machine can "
            "reach or already has, or a folder with one."
        ) from error


def _weights(model: Any) -> str:
    """Return the hash of all tensors in any order: their names differ between releases of the library."""
    import torch

    digests = []
    for tensor in model.state_dict().values():
        content = tensor.detach().cpu().contiguous()
        head = f"{content.dtype} {list(content.shape)} ".encode()
        digests.append(hashlib.sha256(head + content.reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest())
    return sha256_text(" ".join(sorted(digests)))


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
