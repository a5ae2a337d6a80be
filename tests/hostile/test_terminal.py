"""Nothing that a model or a data set wrote can do anything to a terminal but be read on it."""

import json
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.cli import main
from mage_es.cli.output import Output, TextTable, clean, in_json
from mage_es.engine.players.analogist.model import reply
from mage_es.engine.players.reference.authors import AUTHORS
from mage_es.engine.players.reference.model import read_brief
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import QuestionPlanned
from tests.engine.providers.provider import request_of
from tests.hostile.attacks import TERMINAL
from tests.hostile.server import Reply, Said, completion, failure, hostile
from tests.paper_parts import PAPER_OPTIONS

pytestmark = pytest.mark.slow

SMALL = ("--iterations", "2", "--pool", "12", "--held-out", "10", "--anchors", "4", "--run-id", "r")
EVERYTHING = "\n".join(TERMINAL.values())
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
AUTHORED = {"description", "reasoning", "recognise", "brief", "strategy", "prompt_template", "reason", "meaning", "do"}
"""Fields of a guidance reply that hold prose."""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Mage = Callable[..., Outcome]


def harmful(text: str) -> set[str]:
    """Return the characters of a text that a terminal may obey, by Unicode's own classes and not by our table."""
    return {c for c in text if c in BIDI or (unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t")}


def poisoned(value: Any, name: str = "") -> Any:
    """Return a guidance reply with every attack in each of its texts."""
    if isinstance(value, dict):
        return {key: poisoned(of, key) for key, of in value.items()}
    if isinstance(value, list):
        return [poisoned(of, name) for of in value]
    return f"{value} {EVERYTHING}" if isinstance(value, str) and name in AUTHORED else value


def attacking(said: Said) -> Reply:
    """Answer rightly, with every attack around it; write what is asked for, with every attack in it."""
    request = request_of(said.body)
    if "```json" in request.prompt:
        brief = read_brief(request.prompt)
        return completion(json.dumps(poisoned(msgspec.to_builtins(AUTHORS[type(brief)](brief)))))
    return completion(f"{EVERYTHING}\n{reply(request)}")


@pytest.fixture(scope="module")
def poisoned_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs with one run `r`, in which every model attacked whenever it was asked."""
    runs_dir = tmp_path_factory.mktemp("poisoned") / "runs"
    with hostile(attacking) as url, pytest.raises(SystemExit) as exited:
        models = ("--execution", f"openai/exec?base_url={url}/v1", "--guidance", f"openai/g?base_url={url}/v1")
        # The authors behind the server are the embedded ones, which write from solutions.
        options = (*SMALL, *PAPER_OPTIONS, *models, "--teacher-sees", "solutions", "--runs-dir", str(runs_dir))
        main(["evolve", "wordmath", *options])
    assert exited.value.code == 0
    return runs_dir


@pytest.fixture
def mage(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Mage:
    """A function that runs a command line, into a pipe or onto what claims to be a terminal without colours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "dumb")

    def command(*words: str, terminal: bool = False) -> Outcome:
        capfd.readouterr()
        with monkeypatch.context() as pretending, pytest.raises(SystemExit) as exited:
            if terminal:
                pretending.setattr(sys.stdout, "isatty", lambda: True)
                pretending.setattr(sys.stderr, "isatty", lambda: True)
            main(list(words))
        written = capfd.readouterr()
        return Outcome(int(exited.value.code or 0), written.out, written.err)

    return command


def looks(runs_dir: Path) -> list[tuple[str, ...]]:
    """Return a command for everything that shows what somebody else wrote."""
    reader = LogReader(runs_dir / "r" / "log")
    first: dict[type, int] = {}
    questions: dict[str, str] = {}
    for record in reader.records():
        first.setdefault(type(record.event), record.seq)
        if isinstance(record.event, QuestionPlanned):
            questions[record.event.routing_arm] = record.event.question_id
    commands = [("show", f"seq:{seq}", "r") for seq in first.values()]
    commands += [("show", name, "r") for name in questions.values()]
    commands += [("log", "r", "-n", "400"), ("memory", "list", "r"), ("runs", "show", "r"), ("runs", "list")]
    return [(*command, "--runs-dir", str(runs_dir)) for command in commands]


def memories(mage: Mage, runs_dir: Path) -> list[tuple[str, ...]]:
    """Return a command that shows the first memory of each kind."""
    items = json.loads(mage("memory", "list", "r", "--runs-dir", str(runs_dir), "--json").out)["items"]
    first = {item["kind"]: item["memory_id"] for item in reversed(items)}
    assert {"success_memory", "principle"} <= set(first)
    return [("memory", "show", name, "r", "--runs-dir", str(runs_dir)) for name in first.values()]


@pytest.mark.paper("beyond the paper, terminals and keys")
@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_whatever_is_looked_at_nothing_harmful_comes_out(mage: Mage, poisoned_runs: Path, *, terminal: bool) -> None:
    commands = [*looks(poisoned_runs), *memories(mage, poisoned_runs)]
    for command in [each for each in commands if not terminal or not each[1].startswith("seq:")]:
        outcome = mage(*command, terminal=terminal)
        assert outcome.code == 0, (command, outcome.err)
        assert harmful(outcome.out + outcome.err) == set(), command


def test_in_json_everything_is_told_as_it_was_and_nothing_harmful_comes_out_either(
    mage: Mage, poisoned_runs: Path
) -> None:
    told = ""
    for command in (*looks(poisoned_runs), *memories(mage, poisoned_runs)):
        outcome = mage(*command, "--json")
        assert harmful(outcome.out + outcome.err) == set(), command
        documents = outcome.out.splitlines() if command[0] == "log" else [outcome.out]
        told += "".join(str(json.loads(document)) for document in documents)
    for attack in TERMINAL.values():
        assert repr(attack)[1:-1] in told or attack in told


def test_markup_is_shown_and_not_obeyed(mage: Mage, poisoned_runs: Path) -> None:
    shown = mage(
        *next(look for look in looks(poisoned_runs) if look[0] == "show" and "seq:" not in look[1]), terminal=True
    ).out
    assert TERMINAL["rich markup"] in shown and TERMINAL["emoji code"] in shown


def test_an_answer_to_ones_own_question_does_nothing(mage: Mage) -> None:
    with hostile(attacking) as url:
        assert mage("evolve", "wordmath", *SMALL, "--execution", f"openai/e?base_url={url}/v1").code == 0
        question = f"{EVERYTHING} Ana has 3 pens and buys 4 pens. How many pens has Ana?"
        for words in (("ask", question, "r"), ("exam", "r", "--questions", "3")):
            outcome = mage(*words, terminal=True)
            assert outcome.code == 0 and harmful(outcome.out + outcome.err) == set()


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_providers_error_does_nothing(mage: Mage, status: int) -> None:
    with hostile(lambda said: failure(status, EVERYTHING.replace("\n", " "))) as url:
        words = ("evolve", "wordmath", *SMALL, "--execution", f"openai/exec?base_url={url}/v1")
        outcome = mage(*words, terminal=status == 404)
        embedded = mage("evolve", "wordmath", *SMALL, "--embedder", f"openai/e?base_url={url}/v1")
    assert (outcome.code, embedded.code) == (4 if status != 400 else outcome.code, 4)
    assert harmful(outcome.out + outcome.err + embedded.out + embedded.err) == set()


def test_a_traceback_does_nothing(mage: Mage) -> None:
    with hostile(lambda said: failure(401, EVERYTHING.replace("\n", " "))) as url:
        shown = mage("evolve", "wordmath", *SMALL, "--embedder", f"openai/e?base_url={url}/v1", "--debug").err
    assert "Traceback" in shown and "mage-es doctor" in shown
    assert harmful(shown) == set()


@pytest.mark.parametrize("attack", list(TERMINAL.values()), ids=list(TERMINAL))
def test_each_attack_is_taken_out_of_text_and_table_and_spelled_out_in_json(
    attack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Output().report({}, f"a{attack}b", TextTable(attack, (f"c{attack}",), [(attack,)]))
    Output().say(attack)
    written = capsys.readouterr()
    assert harmful(written.out + written.err) == set()
    encoded = in_json({"text": attack})
    assert harmful(encoded) == set() and json.loads(encoded) == {"text": attack}


@pytest.mark.parametrize("name", ["title", "title by ST", "hyperlink", "clipboard", "command in eight bits"])
def test_of_a_command_to_the_terminal_not_even_the_words_are_left(name: str) -> None:
    assert not any(word in clean(TERMINAL[name]) for word in ("owned", "evil", "cm0g"))


@given(st.text())
def test_of_any_text_at_all_nothing_harmful_is_left_and_cleaning_twice_changes_nothing(text: str) -> None:
    assert harmful(clean(text)) == set()
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_of_any_text_at_all_json_says_everything_and_does_nothing(text: str) -> None:
    encoded = in_json([text])
    assert harmful(encoded) == set() and json.loads(encoded) == [text]


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), max_size=60))
def test_a_text_without_controls_is_shown_as_it_is(text: str) -> None:
    assert clean(text) == text
