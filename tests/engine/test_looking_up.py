"""A Learner that may look things up: what it found stands in its prompts, on record, and is never looked up twice."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.recheck import recheck
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run
from mage_es.engine.viewing.show import show
from mage_es.engine.viewing.transcript import CallReport, SearchReport
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import QuestionPlanned, SearchAnswered
from tests.hostile.server import Reply, Said, hostile

pytestmark = pytest.mark.slow

RIVERS = {
    "Danube": "Vienna",
    "Seine": "Paris",
    "Tiber": "Rome",
    "Spree": "Berlin",
    "Vltava": "Prague",
    "Thames": "London",
}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Tasks about rivers, and a folder that knows about them."""
    (tmp_path / "pages").mkdir()
    for river, city in RIVERS.items():
        (tmp_path / "pages" / f"{river}.md").write_text(f"# {river}\n\nThe {river} flows through {city}.")
    rows = [f"Which city does the {river} flow through?,{city}" for river, city in RIVERS.items()]
    (tmp_path / "mine.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
    return Config(
        benchmark=f"tasks/{tmp_path}/mine.csv?scorer=exact",
        iterations=1,
        pool=3,
        anchors=0,
        gate="off",
        execution="builtin/copier",
        search=f"local/{tmp_path}/pages",
        search_passages=2,
    )


def test_what_was_found_stands_before_each_question_and_on_record(
    config: Config, tmp_path: Path, start: Callable[..., Run]
) -> None:
    run = start(tmp_path / "runs", config)
    records = list(LogReader(run.log_path).records({SearchAnswered, QuestionPlanned}))
    found = [record.event for record in records if isinstance(record.event, SearchAnswered)]
    planned = [record.event for record in records if isinstance(record.event, QuestionPlanned)]
    assert len(found) == len(planned) == 3
    assert all(len(answered.titles) <= 2 and answered.wanted == "passages" for answered in found)
    report = show(run, planned[0].question_id, iteration=None, data_dir=None)
    looked, *calls = report.moves
    assert isinstance(looked, SearchReport) and looked.is_there
    last = calls[-1]
    assert isinstance(last, CallReport) and last.verified
    assert f"> {looked.titles[0]}: The {looked.titles[0]} flows through" in last.prompt
    assert [source.source for source in last.sources][-1].startswith("search/")


def test_a_run_that_searched_is_replayed_and_verified_without_its_corpus(
    config: Config, tmp_path: Path, start: Callable[..., Run]
) -> None:
    run = start(tmp_path / "runs", config)
    for page in (tmp_path / "pages").iterdir():
        page.unlink()
    assert all(check.ok for check in verify(run).checks)
    assert all(check.equal for check in recheck(LogReader(run.log_path), run.snapshots_path))
    plan = next(LogReader(run.log_path).of(QuestionPlanned))
    assert isinstance(plan, QuestionPlanned)
    assert show(run, plan.question_id, iteration=None, data_dir=None).moves


def test_a_wikis_reply_that_cannot_be_read_is_recorded_as_a_lookup_that_failed(
    config: Config, tmp_path: Path, start: Callable[..., Run]
) -> None:
    def respond(said: Said) -> Reply:
        return Reply(200, {"query": {"general": {}}} if "siteinfo" in said.path else b"<html>")

    with hostile(respond) as url:
        searched = msgspec.structs.replace(config, search=f"wikipedia?base_url={url}/w/api.php")
        run = start(tmp_path / "runs", searched)
    found = list(LogReader(run.log_path).of(SearchAnswered))
    assert len(found) == 3
    for answered in found:
        assert isinstance(answered, SearchAnswered) and not answered.titles
        assert answered.problem.startswith("ValueError: the wiki's reply cannot be used")
    assert all(check.ok for check in verify(run).checks)
    plan = next(LogReader(run.log_path).of(QuestionPlanned))
    assert isinstance(plan, QuestionPlanned)
    looked, *_ = show(run, plan.question_id, iteration=None, data_dir=None).moves
    assert isinstance(looked, SearchReport) and "cannot be used" in looked.problem


def test_a_corpus_that_is_not_there_is_said_before_a_run_begins(
    config: Config, tmp_path: Path, start: Callable[..., Run]
) -> None:
    for page in (tmp_path / "pages").iterdir():
        page.unlink()
    with pytest.raises(PrerequisiteError, match="holds no documents"):
        start(tmp_path / "runs", config)
    with pytest.raises(UsageError, match="no question here has any"):
        start(tmp_path / "runs", msgspec.structs.replace(config, search="record"))
    assert not (tmp_path / "runs").exists()
