"""Memories in a task of Inspect: those, and the places, that a wrapped client has."""

import json
from pathlib import Path

import openai
import pytest
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, system_message

from mage_es import Run, UsageError, open_run
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryAppended
from mage_es.inspect import with_memory
from tests.engine.serving.upstream import upstream
from tests.inspect_ai.evaluating import evaluated, reply

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Inspect's own

ASKED = "A night at the lakeside inn is $80, and guests who book early save 20 percent. What do 3 nights cost early?"


def as_sent(messages: list[ChatMessage]) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in messages]


def test_a_model_reads_what_a_wrapped_client_sends_and_the_log_names_the_memories(run: Run, tmp_path: Path) -> None:
    sent: list[list[tuple[str, str]]] = []

    def replied(said: list[ChatMessage], *_: object) -> ModelOutput:
        sent.append(as_sent(said))
        return reply("192")

    opened = open_run(run, min_similarity=0)
    earlier = [ChatMessageUser(content="Hello"), ChatMessageAssistant(content="Hi"), ChatMessageUser(content=ASKED)]
    asked = [Sample(id="one", input=ASKED, target="192"), Sample(id="later", input=earlier, target="192")]
    solvers = [system_message("Be brief."), with_memory(opened), generate()]
    log = read_eval_log(str(evaluated(tmp_path, Task(dataset=asked, solver=solvers, scorer=includes()), replied)))

    with upstream() as server:
        plain = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
        client = opened.wrap(plain, record=False, patience_s=60)
        for sample in asked:
            turns = sample.input if isinstance(sample.input, list) else [ChatMessageUser(content=sample.input)]
            chat = [{"role": "system", "content": "Be brief."}]
            chat += [{"role": each.role, "content": each.text} for each in turns]
            client.chat.completions.create(model="m", messages=chat)  # type: ignore[arg-type]
        plain.close()
        bodies = [json.loads(asked.body)["messages"] for asked in server.asked]
    wrapped = [[(each["role"], each["content"]) for each in body] for body in bodies]
    assert sorted(sent) == sorted(wrapped)
    assert max(map(len, sent)) > 4, "cases are turns of the chat"

    known = {memory.memory_id for memory in LogReader(run.log_path).of(MemoryAppended)}
    for sample in log.samples or ():
        told = sample.metadata["mage_es"]
        assert (told["run"], told["marker"]) == ("small", "latest")
        assert told["memories"] and {*told["memories"]} <= known
        assert sample.scores and sample.scores["includes"].value == "C"


def test_a_question_that_is_far_from_all_memories_goes_on_as_it_came(run: Run, tmp_path: Path) -> None:
    def replied(said: list[ChatMessage], *_: object) -> ModelOutput:
        assert as_sent(said) == [("user", "Who wrote Hamlet?")]
        return reply("Shakespeare")

    task = Task(dataset=[Sample(input="Who wrote Hamlet?", target="Shakespeare")], scorer=includes())
    task.solver = with_memory(open_run(run, min_similarity=0.99))
    log = read_eval_log(str(evaluated(tmp_path, task, replied)))
    assert log.samples and log.samples[0].metadata["mage_es"]["why"] == "far"


def test_a_run_is_found_by_its_folder_and_a_marker_must_be_there(run: Run) -> None:
    assert with_memory(str(run.path), at="iter-0")
    with pytest.raises(UsageError, match="iter-7"):
        with_memory(str(run.path), at="iter-7")
