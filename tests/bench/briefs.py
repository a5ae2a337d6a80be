"""The length of guidance prompts on real records: the longest brief of each kind, whole and as it is asked.

    MAGE_ES_DATA=data python -m tests.bench.briefs

Every question that is shown was answered with a reply of 300 words; the teacher sees solutions, which is the most.
"""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mage_es.engine.agents.navigator import navigator_brief
from mage_es.engine.agents.skill_discovery import TEMPLATES, assignments, ontology_brief
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.briefs import Brief
from mage_es.engine.commands import Candidate
from mage_es.engine.config import Config
from mage_es.engine.rules.briefing import tokens_of
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.task_types import BATCH, task_types_brief
from mage_es.engine.seams.benchmark import Question
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State
from tests.paper_parts import PAPER_PARTS

DATA = Path(os.environ.get("MAGE_ES_DATA", "data"))
NAMES = ("gsm8k", "hotpotqa", "finqa", "medqa", "webqa", "stbench", "realmath", "webshop-100", "crafter", "wordmath")
ANSWERED = 60
REPLY = "The question gives two of the three amounts, so the third is what is left of the whole. " * 18


class Length(NamedTuple):
    """A guidance prompt's tokens, by the upper estimate: whole, and as it is asked."""

    template: str
    whole: int
    asked: int


def lengths(name: str, questions: list[Question], *, budget: int = 12_000) -> Iterator[Length]:
    """Yield the length of each kind of brief about questions of one benchmark, the longest of the first 60."""
    types = sorted({question.task_type for question in questions})
    # With the paper's parts, since some are written only then.
    config = Config(benchmark=name, teacher_sees="solutions", guidance_context=budget, **PAPER_PARTS)
    setting = Setting(config, (), (), (), tuple(types), "")
    answered = sorted(questions, key=lambda question: -len(question.context) - len(question.question))[:ANSWERED]
    known = {question.id: question for question in answered}
    state = _answered(answered)
    made: list[tuple[str, Brief, v.BriefCut | None]] = [
        ("ontology_v1", *ontology_brief(setting, name, types, [(q, q.task_type) for q in questions[:4000]])),
        ("task_types_v1", *task_types_brief(setting, name, answered[:BATCH], {}, "")),
        ("navigator_v1", *navigator_brief(setting, state, 1, failed={"t": answered}, last={"s": "Look. " * 60})),
    ]
    for iteration in range(4):
        for each in assignments(setting, state, iteration, [Candidate("t", 1, 1, -1)], known):
            if each.brief is not None:
                made.append((TEMPLATES[type(each.brief)][0], each.brief, each.cut))
    seen = set()
    for template, brief, cut in made:
        if template not in seen:
            seen.add(template)
            tokens = tokens_of(template, brief, {})
            yield Length(template, cut.tokens_whole if cut else tokens, tokens)


def _answered(questions: list[Question]) -> State:
    """Return a state in which every other question was answered wrongly, all of one type."""
    state = State()
    state.apply(v.SkillCreated(skill="s", mastery=0.2, prompt_template="Work. " * 200, strategy="Think. " * 170))
    for name in ("t", "u"):
        state.apply(v.TaskTypeCreated(task_type=name, description=""))
        state.apply(v.EdgeAdded(kind="resolves", source="skill/s", target=f"task_type/{name}"))
    for number, question in enumerate(questions):
        plan = v.QuestionPlanned(
            iteration=0, purpose="fresh", question_id=question.id, task_type="t", skill="s", search_arm="balanced",
            search_probability=1.0, routing_arm="cot", routing_probability=1.0, memories=(), principles=(),
            template="answer_cot", prompt_sha256="", spans=(),
        )  # fmt: skip
        call = v.ModelCalled(
            iteration=0, tier="execution", agent="Learner", purpose="fresh", about=question.id, attempt=0,
            request_sha256="", model="m", text=REPLY, stop_reason="end", input_tokens=0, output_tokens=0,
        )  # fmt: skip
        verdict = v.AnswerJudged(
            iteration=0, purpose="fresh", question_id=question.id, task_type="t", skill="s", answer="none of these",
            score_micro=0, correct=number % 2 == 1, strict=False, judge="rule",
        )  # fmt: skip
        for event in (plan, call, verdict):
            state.apply(event)
    outcomes: tuple[v.Outcome, ...] = ("success_memory", "failure_memory")
    for outcome in outcomes:
        for number in range(3):
            row = v.MemoryAppended(
                memory_id=f"{outcome}{number}", outcome=outcome, kind="", task_type="t", skill="s", question_id="",
                question="?", recognise="", reasoning="r", answer="", wrong_answer="", steps=(), origin=v.Origin(),
                iteration=-9, phase="update", ordinal=number, embedding=b"\x00\x00\x80?",
            )  # fmt: skip
            state.apply(row)
    return state


def main() -> None:
    templates = ["ontology_v1", "task_types_v1", "navigator_v1", *(name for name, _ in TEMPLATES.values())]
    print("| benchmark | " + " | ".join(name.removesuffix("_v1").replace("_", " ") for name in templates) + " |")
    print("|---" * (1 + len(templates)) + "|")
    for name in NAMES:
        questions = list(open_benchmark(name, seed=42, data_dir=DATA).questions("evolution"))
        found = {each.template: each for each in lengths(name, list(islice(questions, 10_000)))}
        cells = (found.get(template) for template in templates)
        print(f"| {name} | " + " | ".join(f"{c.whole:,} to {c.asked:,}" if c else "-" for c in cells) + " |")


if __name__ == "__main__":
    main()
