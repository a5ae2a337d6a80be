"""An opened run gives what it would put before a question; it takes no lock, and any number of threads ask it."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from mage_es.engine.run.directory import Run, clock
from mage_es.engine.seams.model import Request
from mage_es.engine.served.frozen import FrozenRun
from mage_es.engine.serving.open_run import open_run
from mage_es.engine.verbs.exam import examine
from mage_es.events.digests import sha256_text
from mage_es.events.errors import UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import QuestionPlanned

pytestmark = pytest.mark.slow


def held_out(frozen: FrozenRun) -> list[str]:
    return [frozen.world.questions[name].question for name in frozen.world.setting.held_out]


def test_a_bundle_is_to_the_byte_what_an_exam_of_that_state_records(small_run: Run) -> None:
    exam = small_run.exam(examine(small_run, at="iter-0").exam_id)
    frozen = open_run(small_run, at="iter-0", min_similarity=0)
    planned = list(LogReader(exam.log_path).of(QuestionPlanned))
    assert len(planned) == len(held_out(frozen)) and any(plan.memories for plan in planned)
    for plan in planned:
        bundle = frozen.bundle(frozen.world.questions[plan.question_id].question, task_type=plan.task_type)
        assert (bundle.skill, bundle.arm, bundle.propensity) == (plan.skill, plan.search_arm, plan.search_probability)
        assert (bundle.route, bundle.route_propensity) == (plan.routing_arm, plan.routing_probability)
        given = [(each.memory_id, each.similarity) for each in bundle.memories]
        assert given == [(hit.memory_id, hit.similarity) for hit in plan.memories]
        said = {message["role"]: message["content"] for message in bundle.messages}
        request = Request(system=said.get("system", ""), prompt=said["user"])
        assert sha256_text(request.text) == plan.prompt_sha256


def test_a_bundle_without_memories_says_why(small_run: Run) -> None:
    question = held_out(open_run(small_run))[0]
    near = open_run(small_run, min_similarity=0).bundle(question)
    assert near.memories and near.nearest >= max(each.similarity for each in near.memories) and not near.reason
    far = open_run(small_run, min_similarity=1).bundle(question)
    assert not far.memories and far.nearest == near.nearest and "1.000 is needed" in far.reason
    assert len(far.messages[-1]["content"]) < len(near.messages[-1]["content"])
    other = next(name for name in sorted(open_run(small_run).task_types) if name != near.task_type)
    assert "get none" in open_run(small_run, task_types=[other]).bundle(question).reason
    with pytest.raises(UsageError, match="min_similarity is 2"):
        open_run(small_run, min_similarity=2)


def test_threads_that_ask_a_run_nobody_has_asked_yet_get_what_one_after_the_other_gets(small_run: Run) -> None:
    questions = held_out(open_run(small_run))
    alone, shared = open_run(small_run), open_run(small_run)
    expected = [alone.bundle(question) for question in questions]
    with impatient(), ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(shared.bundle, question) for question in questions * 4]
    assert [each.result() for each in asked] == expected * 4


def test_opening_and_asking_write_nothing_and_need_no_lock(small_run: Run) -> None:
    folders = [small_run.path, *(path for path in small_run.path.rglob("*") if path.is_dir())]
    question = held_out(open_run(small_run))[0]
    with Log.open(small_run.log_path, clock=clock):  # a writer is at work
        before = state_on_disk(small_run.path)
        for folder in folders:
            folder.chmod(0o555)
        try:
            assert open_run(small_run).bundle(question).messages
        finally:
            for folder in folders:
                folder.chmod(0o755)
        assert state_on_disk(small_run.path) == before


def state_on_disk(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """What a file that came and went leaves behind, too: the time of its folder."""
    paths = [folder, *folder.rglob("*")]
    return {path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in paths}


@contextmanager
def impatient() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
