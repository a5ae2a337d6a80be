"""The library's absence is told with the command that installs it; tests/minilm has the model itself."""

import sys

import pytest

from mage_es.engine.embedders.registry import open_embedder
from mage_es.events.errors import PrerequisiteError, UsageError


def test_a_library_that_is_missing_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(PrerequisiteError, match=r"python -m pip install 'mage-es\[sentence-transformers\]'$"):
        open_embedder("sentence-transformers/all-MiniLM-L6-v2")


def test_an_option_that_it_does_not_take_is_refused_with_those_that_it_takes() -> None:
    with pytest.raises(UsageError, match=r"no option 'devise'.*device"):
        open_embedder("sentence-transformers/all-MiniLM-L6-v2?devise=cpu")
