"""A program of DSPy is shown what a wrapped client would send, and is otherwise what it was."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.served.notes import note_of
from mage_es.engine.serving.clients import OpenedRun
from mage_es.engine.serving.open_run import open_run
from mage_es.events.errors import UsageError
from tests.engine.providers.provider import provider

pytestmark = pytest.mark.slow

PRODUCTION = Path(__file__).resolve().parents[3] / "cli" / "PRODUCTION.md"
WITHOUT = """
import sys

import mage_es

assert "dspy" not in sys.modules
sys.modules["dspy"] = None
try:
    mage_es.dspy
except mage_es.PrerequisiteError as error:
    print(error)
"""


def test_importing_mage_es_loads_no_dspy_and_without_it_the_error_says_how_to_install_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    told = "mage_es.dspy needs the package dspy: python -m pip install 'mage-es[dspy]'\n"
    assert (done.returncode, done.stdout) == (0, told), done.stderr


@pytest.fixture(scope="module")
def dspy() -> Any:
    return pytest.importorskip(
        "dspy", reason="its extra is not a part of `test`: python -m pip install 'mage-es[dspy]'"
    )


@pytest.fixture(scope="module")
def opened(small_run: Run) -> OpenedRun:
    return open_run(small_run, min_similarity=0)


@pytest.fixture
def lm(dspy: Any) -> Iterator[Any]:
    """A model that always answers 7, and keeps what it was sent."""
    lm = dspy.utils.DummyLM([{"reasoning": "so", "answer": "7", "query": "what?", "team": "billing"}] * 200)
    with dspy.context(lm=lm):
        yield lm


@pytest.fixture
def questions(opened: OpenedRun) -> list[str]:
    texts = [opened.world.questions[name].question for name in opened.world.setting.held_out]
    return [text for text in texts if opened.retrieved(text).memories][:6]


def memory_of(run: Any, **how: Any) -> Any:
    from mage_es.dspy import Memory

    return Memory(run, **how)


def sent(lm: Any) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in lm.history[-1]["messages"]]


def test_a_program_is_shown_the_cases_that_a_wrapped_client_would_send_in_the_same_order(
    opened: OpenedRun, questions: list[str], lm: Any, dspy: Any
) -> None:
    layout = opened.layout._replace(form="turns")
    program = memory_of(opened).wrap(dspy.Predict("question -> answer"))
    assert questions
    for question in questions:
        note = note_of(opened.state, opened.retrieved(question, layout=layout).memories, layout)
        reply = program(question=question)
        assert reply.answer == "7" and {*reply.memory_ids} == {*note.memories}
        (role, _), *others, (_, last) = sent(lm)
        cases = [(asked, answered) for (_, asked), (_, answered) in zip(others[::2], others[1::2], strict=True)]
        assert role == "system" and question in last and len(cases) == len(note.turns) > 0
        for (asked, answered), (turn, said) in zip(cases, note.turns, strict=True):
            assert turn.endswith(shown_as("question", asked))  # the first turn begins with the notes
            assert said.endswith(shown_as("answer", answered))


def test_cases_bring_their_reasoning_where_a_predictor_gives_one(
    opened: OpenedRun, questions: list[str], lm: Any, dspy: Any
) -> None:
    memory = memory_of(opened)
    [question, *_] = [each for each in questions if any(demo.get("reasoning") for demo in memory(question=each).demos)]
    memory.wrap(dspy.ChainOfThought("question -> answer"))(question=question)
    replies = [said for role, said in sent(lm) if role == "assistant"]
    reasons = [demo.reasoning for demo in memory(question=question).demos if demo.get("reasoning")]
    # DSPy itself puts those without reasoning before those with.
    assert [shown_as("reasoning", said) for said in replies[-len(reasons) :]] == reasons
    assert all("Not supplied" in said for said in replies[: -len(reasons)])


def shown_as(field: str, message: str) -> str:
    """Return what a message of DSPy says in a field."""
    return re.split(r"\n*\[\[ ## \w+ ## \]\]\n?", message.partition(f"[[ ## {field} ## ]]\n")[2])[0].strip()


def test_what_is_no_case_is_in_the_instructions(opened: OpenedRun, lm: Any, dspy: Any) -> None:
    rows = [row for row in opened.state.memory.rows() if row.outcome == "principle" or row.kind == "type_strategy"]
    memory = memory_of(opened)
    told = [text for text in (row.question for row in opened.state.memory.rows()) if memory(question=text).notes]
    assert rows and told
    found = memory(question=told[0])
    memory.wrap(dspy.Predict("question -> answer"))(question=told[0])
    assert sent(lm)[0][0] == "system" and found.notes.splitlines()[-1] in sent(lm)[0][1]


def test_a_question_that_is_far_from_everything_is_asked_as_without_memory(small_run: Run, lm: Any, dspy: Any) -> None:
    plain = dspy.Predict("question -> answer")
    far = memory_of(small_run, min_similarity=1).wrap(plain)
    assert far(question="How do I reset my router?").memory_ids == ()
    with_memory = sent(lm)
    plain(question="How do I reset my router?")
    assert with_memory == sent(lm)


def test_only_predictors_that_take_the_question_and_give_the_answer_are_shown_memories(
    opened: OpenedRun, questions: list[str], lm: Any, dspy: Any
) -> None:
    class TwoSteps(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question -> query")
            self.reply = dspy.Predict("question, query -> answer")

        def forward(self, question: str) -> Any:
            query = self.ask(question=question).query
            return self.reply(question=question, query=query)

    reply = memory_of(opened).wrap(TwoSteps())(question=questions[0])
    first, second = lm.history[-2:]
    assert len(first["messages"]) == 2 and len(second["messages"]) > 2 and reply.memory_ids
    with pytest.raises(UsageError, match=r"No predictor of Predict takes 'question' .* \(ticket -> team\): name its"):
        memory_of(opened).wrap(dspy.Predict("ticket -> team"))
    named = memory_of(opened, question="ticket", answer="team").wrap(dspy.Predict("ticket -> team"))
    assert named(ticket=questions[0]).memory_ids and "[[ ## team ## ]]" in sent(lm)[2][1]


def test_a_program_keeps_its_own_demos_and_instructions_and_none_of_the_memories(
    opened: OpenedRun, questions: list[str], lm: Any, dspy: Any
) -> None:
    plain = dspy.Predict(dspy.Signature("question -> answer", "Say a number."))
    plain.demos = [dspy.Example(question="1 + 1?", answer="2")]
    wrapped = memory_of(opened).wrap(plain)
    before = wrapped.dump_state()
    wrapped(question=questions[0])
    assert "Say a number." in sent(lm)[0][1] and "1 + 1?" in sent(lm)[1][1] and len(sent(lm)) > 4
    assert wrapped.dump_state() == before == plain.dump_state()
    plain(question=questions[0])
    assert len(sent(lm)) == 4


def test_threads_and_the_async_form_are_shown_what_one_after_the_other_is(
    opened: OpenedRun, questions: list[str], dspy: Any
) -> None:
    program = memory_of(opened).wrap(dspy.Predict("question -> answer"))

    def asked(question: str) -> tuple[Any, Any]:
        lm = dspy.utils.DummyLM([{"answer": "7"}])
        with dspy.context(lm=lm):
            return program(question=question).memory_ids, sent(lm)

    async def awaited(question: str) -> Any:
        with dspy.context(lm=dspy.utils.DummyLM([{"answer": "7"}])):
            return (await program.acall(question=question)).memory_ids

    alone = [asked(question) for question in questions]
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(asked, questions * 3)] == alone * 3
    assert [asyncio.run(awaited(question)) for question in questions] == [ids for ids, _ in alone]


def test_an_optimizer_compiles_a_wrapped_program_and_memories_are_still_shown(
    opened: OpenedRun, questions: list[str], lm: Any, dspy: Any
) -> None:
    wrapped = memory_of(opened).wrap(dspy.ChainOfThought("question -> answer"))
    examples = [dspy.Example(question=text, answer="7").with_inputs("question") for text in questions[1:3]]
    optimizer = dspy.BootstrapFewShot(metric=lambda example, reply, trace=None: example.answer == reply.answer)
    compiled = optimizer.compile(wrapped, trainset=examples)
    [predictor] = compiled.predictors()
    assert [demo.question for demo in predictor.demos] == questions[1:3]
    reply = compiled(question=questions[0])
    assert reply.memory_ids == wrapped(question=questions[0]).memory_ids


def test_gepa_evolves_the_instruction_of_a_wrapped_program_and_memories_are_still_shown(
    opened: OpenedRun, questions: list[str], dspy: Any
) -> None:
    def replied(body: dict[str, Any]) -> str:
        system, *_, last = (str(message["content"]) for message in body["messages"])
        if "new_instruction" in system:
            return json.dumps({"new_instruction": "Say 8." if "Not 7 but 8." in last else "Say something."})
        return f"[[ ## answer ## ]]\n{8 if 'Say 8.' in system else 7}\n\n[[ ## completed ## ]]"

    def metric(gold: Any, reply: Any, trace: Any = None, name: Any = None, own_trace: Any = None) -> Any:
        return dspy.Prediction(score=float(reply.answer == gold.answer), feedback="Not 7 but 8.")

    examples = [dspy.Example(question=text, answer="8").with_inputs("question") for text in questions]
    with provider(answer=replied) as server:
        lm = dspy.LM("openai/exec", api_base=server.openai_url, api_key="none", cache=False)
        with dspy.context(lm=lm):
            optimizer = dspy.GEPA(metric=metric, max_metric_calls=20, reflection_lm=lm, num_threads=1)
            wrapped = memory_of(opened).wrap(dspy.Predict("question -> answer"))
            evolved = optimizer.compile(wrapped, trainset=examples[:3], valset=examples[3:])
            reply = evolved(question=questions[0])
        asked = [each.body["messages"] for each in server.asked]
    assert evolved.predictors()[0].signature.instructions == "Say 8." and reply.answer == "8"
    assert reply.memory_ids == memory_of(opened)(question=questions[0]).memory_ids
    assert all(len(messages) > 2 for messages in asked if "new_instruction" not in str(messages[0]["content"]))
    assert evolved.dump_state()["demos"] == []


def test_by_itself_it_is_a_retriever(opened: OpenedRun, questions: list[str], dspy: Any) -> None:
    found = memory_of(opened)(question=questions[0])
    assert len(found.passages) == len(found.demos) > 0
    for demo, passage in zip(found.demos, found.passages, strict=True):
        assert passage.startswith(demo.question) and passage.endswith(demo.answer)
        assert demo.inputs().toDict() == {"question": demo.question}
    known = next(iter(opened.state.memory.rows()))
    assert memory_of(opened)(question=known.question, task_type=known.task_type).nearest > 0.99


def test_the_page_on_production_shows_code_that_runs(small_run: Run, lm: Any, dspy: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(small_run.path.parent.parent)
    page = PRODUCTION.read_text(encoding="utf-8")
    [code] = [
        each for each in re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE) if "mage_es.dspy" in each
    ]
    code = re.sub(r"^dspy\.configure.*\n", "", code, flags=re.MULTILINE)
    names: dict[str, Any] = {}
    exec(code.replace('"support", at="iter-9"', f'"{small_run.id}"'), names)
    assert names["reply"].answer == "7"
