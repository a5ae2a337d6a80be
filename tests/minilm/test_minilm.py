"""The paper's embedder with its real weights: exact vectors, what it finds that hashing does not, a run that replays.

The weights are all-MiniLM-L6-v2 as its authors publish it. They are taken from the folder that MAGE_ES_MINILM names,
or from the hub's cache; without them the tests are skipped. The libraries take 2 GB, too much for CI.

    python -m pip install -e '.[sentence-transformers,test]' && python -m pytest tests/minilm
"""

import hashlib
import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="needs the extra sentence-transformers")

from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.embedders.registry import open_embedder
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import reopen_world
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.replay import replay
from mage_es.events.errors import PrerequisiteError
from mage_es.events.log import LogReader
from tests.minilm.paraphrases import PARAPHRASES

pytestmark = pytest.mark.filterwarnings("default")  # torch and transformers warn of themselves

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of its model.safetensors: figures of other weights would mean nothing."""


def weights() -> Path | None:
    """Return the folder with the weights, None if this machine has none. Nothing is downloaded."""
    from huggingface_hub import try_to_load_from_cache

    named = os.environ.get("MAGE_ES_MINILM")
    cached = try_to_load_from_cache(MODEL, "model.safetensors")
    return Path(named) if named else Path(cached).parent if isinstance(cached, str) else None


class Found(NamedTuple):
    """How well an embedder finds a paraphrase: share at the first place, and mean reciprocal rank."""

    first: float
    reciprocal: float


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = weights()
    if folder is None:
        pytest.skip(f"needs the weights: name their folder in MAGE_ES_MINILM, or run: hf download {MODEL}")
    assert hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() == WEIGHTS
    named = tmp_path_factory.mktemp("weights") / "all-MiniLM-L6-v2"  # by its name it is known as the paper's model
    named.symlink_to(folder.resolve(), target_is_directory=True)
    return f"sentence-transformers/{named}"


@pytest.fixture(scope="module")
def minilm(spec: str) -> Embedder:
    return open_embedder(spec)


def found(embedder: Embedder) -> Found:
    left = embedder.encode([pair[0] for pair in PARAPHRASES])
    right = embedder.encode([pair[1] for pair in PARAPHRASES])
    cosines = left @ right.T
    ranks = (cosines > np.diag(cosines)[:, None]).sum(axis=1) + 1
    return Found(float((ranks == 1).mean()), float((1 / ranks).mean()))


@pytest.mark.paper("section 3.5, embedding model")
def test_vectors_have_length_one_and_depend_on_nothing_but_their_text(spec: str, minilm: Embedder) -> None:
    texts = [text for pair in PARAPHRASES for text in pair]
    together = minilm.encode(texts)
    assert together.shape == (len(texts), 384) and together.dtype == np.float32
    assert np.allclose((together * together).sum(axis=1), 1, atol=1e-6)
    other = open_embedder(spec)
    assert np.array_equal(other.encode(texts[::-1])[::-1], together)
    assert np.array_equal(other.encode(texts[5:6])[0], together[5])
    assert not other.encode(["  "]).any()


@pytest.mark.paper("section 3.5, strategy floor")
def test_the_same_weights_have_the_same_hash_and_the_papers_floor(spec: str, minilm: Embedder) -> None:
    other = open_embedder(spec)
    assert (other.sha256, other.dimension) == (minilm.sha256, 384)


def test_it_finds_what_says_the_same_in_other_words_where_hashing_does_not(minilm: Embedder) -> None:
    by_meaning, by_words = found(minilm), found(HashEmbedder())
    print(f"minilm {by_meaning}, hash {by_words}")
    assert by_meaning.first >= 0.9
    assert by_meaning.reciprocal > by_words.reciprocal + 0.2


def test_a_folder_without_a_model_is_refused_with_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"cannot be loaded.*Name a model"):
        open_embedder(f"sentence-transformers/{tmp_path}")


def test_an_evolution_replays_without_the_model_and_goes_on_with_no_other(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(benchmark="wordmath", iterations=3, pool=60, held_out=40, anchors=20, embedder=spec)
    summary = evolve(config, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=2), run_id="r")
    assert summary.iterations_done == 3
    run = Run("r", tmp_path / "r")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "sentence_transformers", None)
        report = replay(run, until="iter-2", into=None)
        assert report.checks and all(check.equal for check in report.checks)
        assert [check.name for check in verify(run).checks if not check.ok] == []
        with pytest.raises(PrerequisiteError, match=r"mage-es\[sentence-transformers\]"):
            reopen_world(LogReader(run.log_path), data_dir=None)
    reader = LogReader(run.log_path)
    with pytest.raises(PrerequisiteError, match="was started with embedder sentence-transformers"):
        reopen_world(reader, data_dir=None, embedder=HashEmbedder())
