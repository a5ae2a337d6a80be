"""The page that checks a receipt says the same of each as the script does."""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from mage_es.engine.auditing import check_receipt
from mage_es.engine.auditing.heads import cosign, receipt
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.events.log import LogReader
from mage_es.events.signing.notes import make_key, read_signer
from mage_es.events.vocabulary import AnswerJudged
from tests.engine.conftest import SMALL
from tests.viewing.conftest import Looked

pytestmark = pytest.mark.slow
PAGE = Path(check_receipt.__file__).with_suffix(".html")


class Given(NamedTuple):
    """A receipt of an answer in an exam, the log's key, a witness's, and that of a stranger of the same name."""

    text: str
    key: str
    witness: str
    stranger: str


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Given:
    folder = tmp_path_factory.mktemp("receipts")
    key = make_key(folder / "key", name="example.org/audit")
    witness = make_key(folder / "witness", name="example.org/witness", is_witness=True)
    stranger = make_key(folder / "stranger", name="example.org/audit")
    runtime = Runtime(workers=2, signer=read_signer(folder / "key"))
    evolve(SMALL, runs_dir=folder / "runs", runtime=runtime, run_id="small")
    examine(folder / "runs" / "small", questions=6, runtime=runtime)
    cosign(folder / "runs" / "small", read_signer(folder / "witness"))
    judged = next(LogReader(next((folder / "runs" / "small" / "exams").iterdir()) / "log").of(AnswerJudged))
    found = receipt(folder / "runs" / "small", judged.question_id)
    return Given(msgspec.json.encode(found).decode(), str(key), str(witness), str(stranger))


@pytest.fixture
def page(look: Callable[..., Looked]) -> Looked:
    return look(PAGE.as_uri())


def said_of(page: Looked, text: str, keys: str = "") -> str:
    """Return what the page says of a receipt, as a person gives it."""
    page.page.fill("#keys", keys)
    page.page.set_input_files("#file", {"name": "r.json", "mimeType": "application/json", "buffer": text.encode()})
    page.page.locator("#verdict", has_text=re.compile("Proved|NOT proved|NOT CHECKED")).wait_for()
    return str(page.page.inner_text("#verdict"))


def test_a_receipt_is_proved_with_the_keys_that_its_reader_knows_and_its_events_are_shown(
    page: Looked, given: Given
) -> None:
    both = f"{given.key} {given.witness}"
    assert said_of(page, given.text, both).endswith(f"is signed by {given.key}, {given.witness}.")
    leaves = [each["leaf"] for name in ("events", "exam_events") for each in json.loads(given.text)[name]]
    assert page.page.locator("pre").all_text_contents() == leaves and len(leaves) >= 5
    assert said_of(page, given.text).endswith("is that someone you know?")
    assert page.problems == []


def other(given: Given) -> dict[str, tuple[str, str]]:
    """Return receipts that prove nothing, with the key that each is checked by."""
    whole = json.loads(given.text)
    moved = [each | {"index": each["index"] + 1} for each in whole["exam_events"]]
    longer = [each | {"path": [each["path"][0], *each["path"]]} for each in whole["events"]]
    misplaced = json.dumps({"run": "small", "seq": 2, "type": "run.finished", "event": {}})
    head = b64encode(sha256(b"\0" + misplaced.encode()).digest()).decode()
    alone = {"events": [{"leaf": misplaced, "index": 0, "path": []}], "exam_events": []}
    origin = whole["checkpoint"].split("\n")[0]
    return {
        "another verdict": (given.text.replace('\\"score_micro\\":', '\\"score_micro\\":1'), given.key),
        "another place": (json.dumps(whole | {"exam_events": moved}), given.key),
        "a longer path": (json.dumps(whole | {"events": longer}), given.key),
        "the place of another": (json.dumps(whole | alone | {"checkpoint": f"log\n1\n{head}\n\n"}), given.key),
        "another log": (given.text.replace(origin, f"{origin}0"), given.key),
        "a stranger's key": (given.text, given.stranger),
        "no key": (given.text, f"example.org/audit+00000000+{given.key.split('+', 2)[2]}"),
    }


def test_what_proves_nothing_is_refused_by_the_page_and_the_script_with_the_same_words(
    page: Looked, given: Given, tmp_path: Path
) -> None:
    for about, (text, key) in other(given).items():
        assert (text, key) != (given.text, given.key), about
        (tmp_path / "receipt.json").write_text(text)
        with pytest.raises(SystemExit) as refused:
            check_receipt.main(str(tmp_path / "receipt.json"), key)
        assert said_of(page, text, key) == str(refused.value), about
        assert page.page.locator("pre").count() == 0, about


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"checkpoint": 3}', '{"checkpoint": "", "events": [], "exam_events": []}']
)
def test_what_is_no_receipt_is_told_and_not_proved(page: Looked, text: str) -> None:
    assert said_of(page, text).startswith("NOT proved: ")
    assert page.problems == []


def test_where_the_browser_has_no_such_signatures_the_page_says_so_and_proves_no_key(
    look: Callable[..., Looked], given: Given
) -> None:
    script = "crypto.subtle.importKey = async () => { throw new DOMException('none', 'NotSupportedError') }"
    page = look(PAGE.as_uri(), script=script)
    assert said_of(page, given.text).endswith("who signed it is NOT CHECKED, this browser has no Ed25519")
    assert said_of(page, given.text, given.key) == "NOT proved: who signed it: this browser has no Ed25519"


def test_where_the_browser_offers_no_hashes_the_page_says_how_to_open_it(
    look: Callable[..., Looked], given: Given
) -> None:
    script = "Object.defineProperty(crypto, 'subtle', {value: undefined})"
    assert "open this page as a file, or by https" in said_of(look(PAGE.as_uri(), script=script), given.text)
