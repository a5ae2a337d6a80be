"""The prompts of the execution tier, composed: by benchmark, template, what is known, and the skill refined or not."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from mage_es.engine.bench.crafter.benchmark import Crafter
from mage_es.engine.bench.finqa.benchmark import FINQA
from mage_es.engine.bench.gsm8k import GSM8K
from mage_es.engine.bench.hotpotqa.benchmark import HOTPOTQA
from mage_es.engine.bench.medqa import MEDQA
from mage_es.engine.bench.realmath.benchmark import REALMATH
from mage_es.engine.bench.stbench.benchmark import STBENCH
from mage_es.engine.bench.webqa.benchmark import WEBQA
from mage_es.engine.bench.webshop.benchmark import WebShop
from mage_es.engine.benchmarks.tasks.scorers import scorer_names, scorer_of
from mage_es.engine.courses import Ask, Finish, Use, advance, begin
from mage_es.engine.players.worlds.wordmath.benchmark import WordMath
from mage_es.engine.players.worlds.workshop.benchmark import Workshop
from mage_es.engine.rules.new_memories import reasoning_of
from mage_es.engine.rules.prompt import PromptQuestion, Quote, Section, render_answer
from mage_es.engine.rules.routes import ROUTING_ARMS, Route, follow
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.step_prompt import STEP_TEMPLATES, Consulted, step_prompt
from mage_es.engine.seams.benchmark import Question, traits_of
from mage_es.engine.seams.embedder import to_bytes
from mage_es.engine.seams.environment import Moment
from mage_es.engine.seams.model import Request
from mage_es.events.vocabulary import MemoryAppended, Origin, QuestionPlanned, Retrieved, SkillRefined
from mage_es.projections.fold import State
from tests.engine.rules.states import setting_of
from tests.engine.rules.test_routes import TOOL, chained, planned, told
from tests.kit.plain_events import plain
from tests.kit.truthworld.benchmark import TruthWorld

BENCHMARKS: Mapping[str, Any] = {
    "gsm8k": GSM8K,
    "wordmath": WordMath(1),
    "finqa": FINQA,
    "medqa": MEDQA,
    "hotpotqa": HOTPOTQA,
    "webqa": WEBQA,
    "realmath": REALMATH,
    "stbench": STBENCH,
    "truthworld": TruthWorld(1),
    **{f"tasks, {name}": scorer_of(name, ()) for name in scorer_names()},
}
EPISODES: Mapping[str, Any] = {"workshop": Workshop, "webshop-100": WebShop, "crafter": Crafter}
COMPUTED = frozenset({"gsm8k", "wordmath", "finqa", "tasks, number"})
"""Those whose answers are computed numbers."""
_ENDINGS = {
    **{name: "Answer: {}" for name in BENCHMARKS},
    **dict.fromkeys(("gsm8k", "wordmath", "truthworld", "tasks, number"), "#### {}"),
    **dict.fromkeys(("medqa", "tasks, choice"), "Answer: [{}]"),
    "realmath": "\\section*{{Final Answer}}\n{}",
}
"""How a learner's reply ends, written here once more so that no prompt is its own measure."""
SUCCESS, CORRECTION, STRATEGY, PRINCIPLE = KINDS = ("success", "correction", "strategy", "principle")
_JARS = "Ana packs 4 boxes with 6 jars each and gives 5 jars to a friend. How many jars are left?"
_EAGLE = "In which city was the architect born who built the house in which the Eagle Club met until 1931?"


class Composed(NamedTuple):
    """The requests of one answer, by template."""

    benchmark: str
    kinds: tuple[str, ...]
    is_refined: bool
    requests: Mapping[str, Request]


def questions(kinds: Collection[str] = (), *, is_refined: bool = False) -> Iterator[Composed]:
    """Yield what each benchmark of questions is asked with, by every route and by the baselines."""
    for name, benchmark in BENCHMARKS.items():
        setting = _setting(benchmark)
        state, plan = _known(name, kinds, is_refined=is_refined)
        requests: dict[str, Request] = {}
        for route in ROUTING_ARMS:
            requests |= _route(setting, state, plan | {"chain": ("add",), "tool_id": "t1"}, route)
        yield Composed(name, tuple(kinds), is_refined, requests | dict(_baselines(setting)))


def episodes(kinds: Collection[str] = (), *, is_refined: bool = False) -> Iterator[Composed]:
    """Yield what each environment is asked with at a step."""
    for name, benchmark in EPISODES.items():
        setting = _setting(benchmark)
        state, plan = _known(name, kinds, is_refined=is_refined)
        moment = Moment("You are at the hill. You see sand.", ["go to lake", "collect sand"], ["go to hill: You walk."])
        question = Question(id="q", benchmark=name, split="test", task_type="t", question="Make the saw.", gold="saw")
        requests = {}
        for template in sorted(STEP_TEMPLATES):
            asked = planned(**plan | {"template": template})
            prompt = step_prompt(setting, state, asked, question, moment, about=Consulted("t", []))
            requests[template] = _request(prompt)
        yield Composed(name, tuple(kinds), is_refined, requests)


def _setting(benchmark: Any) -> Setting:
    return setting_of()._replace(answer_format=benchmark.answer_format, traits=traits_of(benchmark))


def _route(setting: Setting, state: State, plan: Mapping[str, Any], route: str) -> Iterator[tuple[str, Request]]:
    arm = ROUTING_ARMS[route]
    asked: QuestionPlanned = planned(route, **plan)
    question = Question(id="q", benchmark="", split="test", task_type="t", question=_JARS, gold="19")
    course = follow(Route(setting, state, asked, question))
    move, template = begin(course), arm.template
    while not isinstance(move, Finish):
        fact: Any = ("6", "") if isinstance(move, Use) else '{"count": 4, "each": 6}'
        if isinstance(move, Ask):
            yield template, move.request
            template = {"chain": "answer_after_steps_v1", "tool": "answer_after_tool_v1"}.get(route, template)
        assert isinstance(move, Ask | Use)
        move = advance(course, told(move, fact))


def _baselines(setting: Setting) -> Iterator[tuple[str, Request]]:
    asked = PromptQuestion(_JARS, "", setting.answer_format, setting.traits.instruction)
    attempt = Section("Earlier attempt", [Quote("call/q", "4 * 6 = 24\n24 + 5 = 29")])
    thoughts = Section("Thoughts on it", [Quote("call/q/1", "- Jars that are given away are subtracted.")])
    steps = Section("Steps so far", [Quote("call/q/2", "Thought 1: x\nAction 1: Search[Jar]\nObservation 1: A jar.")])
    for template, sections in (
        ("reflect_v1", [attempt]),
        ("revise_v1", [attempt, thoughts]),
        ("react_v1", [steps]),
        ("react_action_v1", [steps]),
    ):
        yield template, _request(render_answer(template, sections, asked))


def _request(prompt: Any) -> Request:
    return Request(system=prompt.system, prompt=prompt.text)


def _known(name: str, kinds: Collection[str], *, is_refined: bool) -> tuple[State, dict[str, Any]]:
    """Return a state that holds three memories of each kind, and the fields of a plan that names them all."""
    built, _ = chained()
    built.state.apply(TOOL)
    if is_refined:
        built.state.apply(
            plain(
                SkillRefined,
                skill="goal",
                prompt_template="Use every number that the question depends on; say which one was not used.",
                strategy="First multiply what is the same, then take away what is given.",
            )
        )
    named: dict[str, list[str]] = {kind: [f"{kind}{place}" for place in range(3)] for kind in kinds}
    for kind, names in named.items():
        for place, memory in enumerate(names):
            built.state.apply(_memory(memory, kind, place, name))
    hits = [Retrieved(memory_id=each, similarity=1.0) for kind in kinds if kind != PRINCIPLE for each in named[kind]]
    return built.state, {"memories": tuple(hits), "principles": tuple(named.get(PRINCIPLE, ()))}


def _memory(name: str, kind: str, place: int, benchmark: str) -> MemoryAppended:
    is_number = _ENDINGS.get(benchmark, "").startswith("####") or benchmark == "finqa"
    answer, wrong = ("19", "29") if is_number else ("B", "A")
    reply = "4 * 6 = 24\n24 - 5 = 19" if is_number else "The club met in the Old Mint. Its architect came from Bern."
    ending = _ENDINGS.get(benchmark, "Answer: {}")
    whole, form = f"{reply}\n{ending.format(answer)}", f'"{ending.format("<x>")}"'
    texts = {
        SUCCESS: {"reasoning": reasoning_of(whole, answer, form)},
        CORRECTION: {"reasoning": f"{reply} What is given away is taken away.", "wrong_answer": wrong},
        STRATEGY: {
            "reasoning": "1. Find what is the same. 2. Take away what is given.",
            "recognise": "things in groups",
        },
        PRINCIPLE: {"reasoning": "Take every share of the whole that it is a share of."},
    }[kind]
    outcomes = {SUCCESS: "success_memory", PRINCIPLE: "principle"}
    return MemoryAppended(
        **{
            "memory_id": name,
            "outcome": outcomes.get(kind, "failure_memory"),
            "kind": {CORRECTION: "specific", STRATEGY: "type_strategy"}.get(kind, ""),
            "task_type": "t",
            "skill": "goal",
            "question_id": f"q-{name}",
            "question": f"({place}) {_JARS if is_number else _EAGLE}",
            "recognise": "",
            "answer": answer,
            "wrong_answer": "",
            "steps": (),
            "origin": Origin(),
            "iteration": 0,
            "phase": "evolve",
            "ordinal": place,
            "embedding": to_bytes(np.ones(1, dtype=np.float32)),
            **texts,
        }
    )
