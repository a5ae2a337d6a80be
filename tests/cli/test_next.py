"""What a command names as the next one works when it is pasted, wherever the run is."""

import shutil
from pathlib import Path

import pytest

from mage_es.cli.session import serving
from mage_es.cli.settings import resolve
from tests.cli.conftest import Command, advised, understand


@pytest.fixture(params=["by its path", "with --runs-dir"])
def named(request: pytest.FixtureRequest, finished: Path, tmp_path: Path) -> tuple[str, ...]:
    """A run outside ./runs, as words of a command line; ./runs has none."""
    shutil.copytree(finished / "first", tmp_path / "else where" / "first")
    return ("else where/first",) if request.param == "by its path" else ("first", "--runs-dir", "else where")


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "show"),
        ("verify",),
        ("replay",),
        ("memory", "list"),
        ("memory", "prune"),
        ("diff",),
        ("effect",),
        ("what-if", "--guard", "paper"),
        ("bisect", "--metric", "anchors"),
        ("exam", "--questions", "3"),
    ],
    ids=" ".join,
)
def test_the_next_command_finds_the_run(mage: Command, words: tuple[str, ...], named: tuple[str, ...]) -> None:
    first = mage(*words, *named)
    assert first.code == 0 and advised(first.err)
    for ahead in advised(first.err):
        done = mage(*ahead)
        assert done.code == 0 or "Proceed at this price" in done.err, (ahead, done.err)


@pytest.mark.slow
def test_a_run_that_is_resumed_by_its_path_is_shown_when_it_stops(mage: Command, finished: Path) -> None:
    assert mage("fork", str(finished / "first"), "--runs-dir", "else where", "--run-id", "more").code == 0
    stopped = mage("resume", "else where/more", "--max-calls", "1")
    assert stopped.code == 3 and "--runs-dir 'else where'" in stopped.err and "more" in stopped.out


@pytest.mark.parametrize(
    ("execution", "ahead"),
    [
        ("openai/m?base_url=http://localhost:8000/v1", "serve r --upstream http://localhost:8000"),
        ("anthropic/m", "serve r --upstream https://api.anthropic.com"),
        ("builtin/copier", "runs show r"),  # there is no server to put memories before
    ],
)
def test_serving_is_advised_with_the_server_that_it_needs(execution: str, ahead: str, tmp_path: Path) -> None:
    assert serving(resolve({}, environment={}, folder=tmp_path), "r", execution) == f"mage-es {ahead}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["exam", "first", "--no-such"], "No such option"),
        (["no-such"], "no-such"),
        (["memory", "show"], "Missing parameter"),
    ],
)
def test_words_that_the_command_line_does_not_understand_fail_any_test(words: list[str], said: str) -> None:
    with pytest.raises(Exception, match=said):
        understand(words)
