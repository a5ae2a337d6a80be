"""Every command on runs with subjects, in every state of their keys: it works, or says in one line why it cannot."""

import base64
import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from mage_es.cli import main
from mage_es.engine.run.directory import Run
from mage_es.engine.upkeep.erase import erase
from mage_es.engine.viewing.chunks import Viewed
from mage_es.events.disk.documents import pack, unpack
from mage_es.events.disk.keys import _Document
from mage_es.events.facts.private import quotes_erased
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged
from tests.cli.conftest import Command
from tests.cli.test_view import got, keys_of, viewing

pytestmark = pytest.mark.slow

NAMES = {"customer-0": "zaphodquux", "customer-1": "trilliangux", "": "Ben"}
TASKS = [
    {
        "id": f"row-{number}",
        "question": f"{name} has {number} pears and buys {7 * number} more at shop {number}. How many pears are there?",
        "answer": 8 * number,
        "solution": f"{name} has {number} + {7 * number} = {8 * number} pears.",
        "subject": who,
    }
    for number in range(1, 49)
    for who, name in [list(NAMES.items())[min(number % 4, 2)]]
]
BEGIN = (
    *("evolve", "tasks.jsonl", "--scorer", "number", "--execution", "builtin/analogist"),
    *("--guidance", "builtin/reference", "--teacher-sees", "solutions", "--iterations", "2", "--pool", "12"),
    *("--anchors", "4", "--held-out", "6", "--gate", "off", "--max-iterations", "1", "--run-id", "half"),
)
OWN, ASKED = "the question of a subject", "the question of none"
COMMANDS: dict[str, tuple[str, ...]] = {
    "runs list": ("runs", "list"),
    "runs show": ("runs", "show", "whole"),
    "memory list": ("memory", "list", "whole"),
    "memory show": ("memory", "show", "MEMORY", "whole"),
    "memory review": ("memory", "review", "whole"),
    "memory quarantine": ("memory", "quarantine", "MEMORY", "whole", "--reason", "it is tried"),
    "memory release": ("memory", "release", "MEMORY", "whole", "--reason", "it was tried"),
    "show own": ("show", OWN, "whole"),
    "show other": ("show", ASKED, "whole"),
    "show event": ("show", "seq:9", "whole"),
    "replay": ("replay", "whole"),
    "verify": ("verify", "whole"),
    "report": ("report", "runs"),
    "export": ("export", "whole", "--format", "csv", "--to", "exported"),
    "view": ("view", "whole", "--to", "whole.html"),
    "backup": ("backup", "whole"),
    "ask": ("ask", "Ben has 3 pears and buys 4 more at shop 3. How many pears are there?", "whole"),
    "exam": ("exam", "whole"),
    "exam control": ("exam", "whole", "--control", "permuted"),
    "serve": ("serve", "whole", "--upstream", "http://127.0.0.1:9"),
    "resume": ("resume", "half", "--max-iterations", "9"),
    "verify resumed": ("verify", "half"),
}
REPAIR = {"verify repair": ("verify", "whole", "--repair")}
"""Which verifies as `verify` does: it is tried where the keys are unusable."""
REFUSED = {"memory review": (2, "is not served"), "serve": (2, "has tasks with a subject")}
"""What no run with subjects is for, whatever its keys are."""
NEEDS_NO_KEY = {"runs list", "export", "view", "backup"}
MAY_NEED_NONE = {"memory review", "show event"}
"""What may find all it wants before it meets a text of a subject."""
GONE = {
    "all keys": (),
    "erased": ("customer-1",),  # whose key is destroyed
    "restored": NAMES,  # without the file of keys
}
"""Of which subjects nothing can be read, in the states in which all else can be."""
UNUSABLE = {"damaged": "is damaged", "another salt": "has a different salt", "other keys": "does not open this log"}


def change_keys(path: Path, state: str) -> None:
    """Bring the file of a run's keys into a state."""
    file = path / "keys"
    document = unpack(file.read_bytes(), _Document, name="keys")
    match state:
        case "erased":
            erase(Run(path.name, path), subject="customer-1")
        case "damaged":
            file.write_bytes(file.read_bytes().replace(b'"salt":"', b'"salt":"0', 1))
        case "another salt":
            file.write_bytes(pack(msgspec.structs.replace(document, salt="00" * 32)))
        case "other keys":
            held = (msgspec.structs.replace(each, key="11" * 32) for each in document.subjects)
            file.write_bytes(pack(msgspec.structs.replace(document, subjects=tuple(held))))


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two runs over tasks of two subjects and of none: `whole` with an exam, `half` unfinished."""
    folder = tmp_path_factory.mktemp("evolved")
    (folder / "tasks.jsonl").write_text("\n".join(map(json.dumps, TASKS)))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for words in (BEGIN, ("resume", "whole", "--max-iterations", "9"), ("exam", "whole")):
            with pytest.raises(SystemExit) as exited:
                main(words)
            assert exited.value.code == (3 if words == BEGIN else 0)
            if words == BEGIN:
                shutil.copytree("runs/half", "runs/whole")
    return folder


@pytest.fixture
def begin(evolved: Path, empty_folder: Path, mage: Command) -> Callable[[str], Mapping[str, str]]:
    """A function that brings copies of the runs into a state, and returns the words that name things of theirs."""

    def begun(state: str) -> Mapping[str, str]:
        shutil.copytree(evolved / "runs", empty_folder / "runs")
        reader = LogReader(empty_folder / "runs" / "whole" / "log")
        owners = {str(task["id"]): task["subject"] for task in TASKS}
        asked = [event.question_id for event in reader.of(AnswerJudged) if event.purpose == "fresh"]
        items = json.loads(mage("memory", "list", "whole", "--json").out)["items"]
        memory = next(item["memory_id"] for item in items if item["text"].startswith(NAMES[""]))
        for name in ("whole", "half"):
            path = empty_folder / "runs" / name
            if state == "restored":
                assert mage("backup", name).code == 0
                shutil.rmtree(path)
                assert mage("restore", f"runs-backups/{name}", name).code == 0
            else:
                change_keys(path, state)
        own, other = (next(name for name in asked if owners[name] == who) for who in ("customer-1", ""))
        return {OWN: own, ASKED: other, "MEMORY": memory}

    return begun


def chunks(run: Run) -> Iterator[str]:
    """Yield what a page is given of a run, in this machine's browser."""
    viewed = Viewed(run, opened=True)
    for name in viewed.names():
        yield plain(viewed.chunk(name)).decode()


def plain(chunk: bytes) -> bytes:
    """Return what is packed in a chunk."""
    data = re.fullmatch(rb'mage\(".*","(.*)"\)\n', chunk)
    assert data, chunk[:100]
    return gzip.decompress(base64.b64decode(data[1]))


@pytest.mark.parametrize("state", GONE)
def test_a_command_works_on_what_there_is_and_shows_tokens_of_what_is_gone(
    begin: Callable[[str], Mapping[str, str]], mage: Command, empty_folder: Path, state: str
) -> None:
    words = begin(state)
    for name, line in COMMANDS.items():
        code, out, err = mage(*(words.get(word, word) for word in line))
        refused, why = REFUSED.get(name, (0, ""))
        assert (name, code) == (name, refused), err
        assert why in err
        assert not [gone for gone in GONE[state] if gone and NAMES[gone] in out + err], name
        assert name != "show own" or quotes_erased(out) is bool(GONE[state])
        assert "DOES NOT MATCH" not in out, name
    shown = "".join(chunks(Run("whole", empty_folder / "runs" / "whole")))
    for who in ("customer-0", "customer-1"):
        assert (NAMES[who] in shown) is (who not in GONE[state])


def test_what_cannot_go_on_says_so_before_it_names_a_price_or_takes_anything_out_of_use(
    begin: Callable[[str], Mapping[str, str]], mage: Command, empty_folder: Path
) -> None:
    begin("all keys")
    before = LogReader(empty_folder / "runs" / "whole" / "log").head
    for words in (
        ("evolve", "--from", "whole", "--prune", "--yes"),
        ("upgrade", "whole", "--execution", "builtin/copier"),
    ):
        code, out, err = mage(*words)
        assert code == 2 and "whole has tasks with a subject" in err, err
        assert not [word for word in ("takes about", "calls of", "proved harmful") if word in out + err], err
    assert LogReader(empty_folder / "runs" / "whole" / "log").head == before


@pytest.mark.parametrize("state", UNUSABLE)
def test_a_command_that_needs_a_key_says_in_one_line_why_it_cannot_be_used(
    begin: Callable[[str], Mapping[str, str]], mage: Command, empty_folder: Path, state: str
) -> None:
    words = begin(state)
    for name, line in (COMMANDS | REPAIR).items():
        code, out, err = mage(*(words.get(word, word) for word in line))
        told = [text for text in (out + err).splitlines() if UNUSABLE[state] in text]
        if name in NEEDS_NO_KEY:
            assert (name, code) == (name, 0), err
        elif name not in MAY_NEED_NONE:
            # A report leaves out what it cannot read, and without any other run there is nothing to report on.
            assert (name, code) == (name, 2 if name == "report" and code == 2 else 5), err
            assert len(told) == 1 or (told and "verify" in name) or "repair" in name, out + err
            assert "runs/whole/keys" in told[0] or "runs/half/keys" in told[0]
        assert "This is a bug" not in err, name
    assert (empty_folder / "exported" / "SCHEMA.md").exists()


def test_erase_says_what_it_will_do_and_does_it_only_where_that_is_agreed_to(
    begin: Callable[[str], Mapping[str, str]], mage: Command, empty_folder: Path
) -> None:
    begin("all keys")
    keys = (empty_folder / "runs" / "whole" / "keys").read_bytes()
    asked = mage("erase", "whole", "--subject", "customer-1")
    assert asked.code == 2
    assert "12 questions" in asked.err and "will destroy its key" in asked.err and "Quarantined" not in asked.err
    assert "Nothing was erased. Add --yes to erase it." in asked.err
    assert (empty_folder / "runs" / "whole" / "keys").read_bytes() == keys
    done = mage("erase", "whole", "--subject", "customer-1", "--yes", "--json")
    receipt = json.loads(done.out)
    assert (done.code, receipt["is_repeated"]) == (0, False)
    assert json.loads((empty_folder / receipt["path"]).read_bytes()) == receipt
    assert "customer-1" not in done.out + done.err
    again = mage("erase", "whole", "--subject", "customer-1")
    assert again.code == 0 and "was erased already" in again.out
    assert mage("erase", "whole", "--subject", "nobody", "--yes").code == 2
    assert mage("verify", "whole").code == 0


def test_a_page_behind_keys_shows_others_no_text_of_a_subject(
    begin: Callable[[str], Mapping[str, str]], empty_folder: Path
) -> None:
    begin("all keys")

    def shown(url: str, **headers: str) -> str:
        while b'"reading"' in (index := plain(got(f"{url}data/whole/index.js", **headers)[1])):
            pass
        assert b'"finished"' in index
        parts = ("questions-0", "wordings-0", "memories-0", "texts-0", "answers-0", "payloads-0")
        return "".join(plain(got(f"{url}data/whole/{part}.js", **headers)[1]).decode() for part in parts)

    with viewing(empty_folder / "runs") as (url, _):
        assert all(name in shown(url) for name in NAMES.values())
    with viewing(empty_folder / "runs", "--keys", keys_of(empty_folder)) as (url, _):
        text = shown(url, Authorization="Bearer key-of-anna")
        assert NAMES[""] in text and not [who for who, name in NAMES.items() if who and name in text]
