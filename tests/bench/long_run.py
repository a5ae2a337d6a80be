"""A run of any length, made up: the events that a run records, in its order, its proportions and its sizes.

Of a thousand events 280 are updates of a bandit, 660 plans, replies and verdicts, 45 memories with 256 numbers each;
the rest are masteries, plans, verdicts of the guard and marks. The texts are sentences and equations of random words
and numbers. Every event follows from those before it, so each prefix folds; equal seeds give equal runs.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Literal, NamedTuple

import numpy as np

from mage_es.engine.seams.embedder import Vectors
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State

QUESTIONS = 200
ANCHORS = 60
DIMENSION = 256
TASK_TYPES = [f"wordmath_{number:02d}" for number in range(10)]
SKILLS = [f"{name}-{steps}" for name in ("add-subtract", "add-compare", "multiply-divide") for steps in range(2, 8)]
SEARCH = ("balanced", "success_only", "failure_only", "diverse", "none")
ROUTING = ("cot", "direct", "skill")
OTHERS = 0.2
"""How many words of a case's question are others."""


class Cases(NamedTuple):
    """What memories are made of: questions, each a task type and a text, of which a fifth of the words are others each
    time; what embeds a text; and how many memories an iteration brings. So vectors lie as those of a run do."""

    questions: Sequence[tuple[str, str]]
    embed: Callable[[Sequence[str]], Vectors]
    number: int


def commits(
    *,
    seed: int = 0,
    with_digests: bool = False,
    dimension: int = DIMENSION,
    task_types: Sequence[str] = TASK_TYPES,
    cases: Cases | None = None,
) -> Iterator[list[v.Draft]]:
    """Yield what a run hands to its log, commit by commit, without end.

    `with_digests` records the true digests whenever an iteration closes, which costs a fold of everything. Without
    `cases` memories have random words and vectors.
    """
    run = _Run(Random(seed), State() if with_digests else None, dimension, task_types, cases)
    yield run.opening()
    k = 0
    while True:
        yield from run.iteration(k)
        k += 1


def drafts(count: int, *, seed: int = 0) -> list[v.Draft]:
    """Return the first `count` facts of a run."""
    found: list[v.Draft] = []
    for commit in commits(seed=seed):
        found += commit
        if len(found) >= count:
            return found[:count]
    raise AssertionError("a run has no end")


class _Run:
    def __init__(
        self, random: Random, state: State | None, dimension: int, task_types: Sequence[str], cases: Cases | None
    ) -> None:
        self._random, self._state, self._dimension, self._cases = random, state, dimension, cases
        self._task_types = task_types
        self._numbers = np.random.default_rng(random.randrange(1 << 32))
        self._words = ["".join(random.choices("aeioulnrstdmpk", k=random.randrange(2, 10))) for _ in range(3000)]
        self._posteriors: dict[tuple[str, str, str], tuple[int, int, int]] = {}
        self._mastery = dict.fromkeys(SKILLS, 0.0)
        self._memories = ["0" * 32]
        self._strategies: dict[str, str] = {}
        self._made = 0

    def opening(self) -> list[v.Draft]:
        events: list[v.Event] = [
            v.SkillCreated(skill=s, mastery=0.0, prompt_template="", strategy=self._text(30)) for s in SKILLS
        ]
        events += [v.TaskTypeCreated(task_type=name, description=self._text(12)) for name in self._task_types]
        events += [
            v.EdgeAdded(kind="resolves", source=f"skill/{self._one(SKILLS)}", target=f"task_type/{name}")
            for name in self._task_types
        ]
        return self._drafts(-1, "open", events)

    def iteration(self, k: int) -> Iterator[list[v.Draft]]:
        asked = [f"wordmath-evolution-{k * QUESTIONS + i}" for i in range(QUESTIONS)]
        anchors = [f"wordmath-anchor-{i}" for i in range(ANCHORS)]
        planned = v.IterationPlanned(
            iteration=k, frontier=tuple(SKILLS[:4]), brief="", epoch=0, fresh=tuple(asked), revisits=(), repeats=()
        )
        yield self._drafts(k, "plan", [planned, v.PhaseCompleted(iteration=k, phase="plan")])
        yield from self._answers(k, "evaluate", "fresh", asked)
        yield self._drafts(k, "update", [*self._update(k, asked), v.PhaseCompleted(iteration=k, phase="update")])
        yield self._drafts(k, "evolve", [*self._evolve(k), v.PhaseCompleted(iteration=k, phase="evolve")])
        yield from self._answers(k, "snapshot", "anchor", anchors)
        guard = v.GuardDecided(
            iteration=k, verdict="accepted", correct=self._random.randrange(ANCHORS), total=ANCHORS, against=k - 1,
            drop=0.0, p_value=0.5, best=k - 1, best_drop=0.0, best_p_value=0.5, smallest_drop=0.1,
        )  # fmt: skip
        yield self._drafts(
            k, "snapshot", [guard, v.SnapshotTaken(iteration=k), v.PhaseCompleted(iteration=k, phase="snapshot")]
        )
        digests = self._state.digests() if self._state else ()
        yield self._drafts(k, "close", [v.IterationClosed(iteration=k, digests=digests)])

    def _answers(self, k: int, phase: v.Phase, purpose: v.Purpose, ids: list[str]) -> Iterator[list[v.Draft]]:
        plans = [self._plan(k, purpose, question_id) for question_id in ids]
        yield self._drafts(k, phase, plans)
        for start in range(0, len(plans), 8):
            pairs = [self._answer(k, plan) for plan in plans[start : start + 8]]
            yield self._drafts(k, phase, [event for pair in pairs for event in pair])
        yield self._drafts(k, phase, [v.PhaseCompleted(iteration=k, phase=phase)]) if phase == "evaluate" else []

    def _plan(self, k: int, purpose: v.Purpose, question_id: str) -> v.QuestionPlanned:
        memories = self._random.choices(self._memories, k=3)
        offsets = sorted(self._random.randrange(60, 2000) for _ in memories)
        return v.QuestionPlanned(
            iteration=k, purpose=purpose, question_id=question_id,
            task_type=self._one(self._task_types), skill=self._one(SKILLS), search_arm=self._one(SEARCH),
            search_probability=self._random.random(), routing_arm=self._one(ROUTING),
            routing_probability=self._random.random(),
            memories=tuple(v.Retrieved(memory_id=m, similarity=self._random.random()) for m in memories),
            principles=(), template="answer_cot", prompt_sha256=self._hash(),
            spans=tuple(map(_span, offsets, memories)),
        )  # fmt: skip

    def _answer(self, k: int, plan: v.QuestionPlanned) -> tuple[v.ModelCalled, v.AnswerJudged]:
        correct, answer = self._random.random() < 0.6, str(self._random.randrange(500))
        called = v.ModelCalled(
            iteration=k, tier="execution", agent="Learner", purpose=plan.purpose, about=plan.question_id, attempt=0,
            request_sha256=self._hash(), model="vllm/Qwen/Qwen3-8B", text=self._reasoning(answer), stop_reason="end",
            input_tokens=self._random.randrange(200, 900), output_tokens=self._random.randrange(20, 300),
            latency_us=self._random.randrange(5_000_000),
        )  # fmt: skip
        judged = v.AnswerJudged(
            iteration=k, purpose=plan.purpose, question_id=plan.question_id, task_type=plan.task_type, skill=plan.skill,
            answer=answer,
            score_micro=v.MICRO * correct, correct=correct, strict=False, judge="rule",
        )  # fmt: skip
        return called, judged

    def _update(self, k: int, asked: list[str]) -> list[v.Event]:
        events: list[v.Event] = []
        for question_id in asked:
            events.append(self._reward("search", self._one(self._task_types), self._one(SEARCH), question_id))
            events.append(self._reward("routing", self._one(SKILLS), self._one(ROUTING), question_id))
        for skill in self._random.sample(SKILLS, 14):
            before, after = self._mastery[skill], self._random.random()
            self._mastery[skill] = after
            events.append(
                v.MasteryUpdated(
                    iteration=k, skill=skill, before=before, after=after, evidence=after, successes=7, failures=4
                )
            )
        number = self._cases.number * 3 // 5 if self._cases else 50
        return events + [self._memory(k, "update", "success_memory", "", i) for i in range(number)]

    def _evolve(self, k: int) -> list[v.Event]:
        new = tuple(self._task_types) if k == 0 else ()
        targets = [
            v.Target(task_type=name, failures=3, attempts=9, last_selected=k - 1) for name in self._task_types[:3]
        ]
        events: list[v.Event] = [v.TargetsSelected(iteration=k, targets=tuple(targets), newly_observed=new)]
        for target in targets:
            events.append(
                v.ActionTaken(
                    iteration=k, action="failure_memory", task_type=target.task_type, outcome="authored", authored=4
                )
            )
        number = self._cases.number * 2 // 5 if self._cases else 12
        events += [self._memory(k, "evolve", "failure_memory", "specific", i) for i in range(number)]
        strategies = [self._memory(k, "evolve", "failure_memory", "type_strategy", number + i) for i in range(2)]
        return [*events, *strategies, *filter(None, map(self._superseded, strategies))]

    def _superseded(self, memory: v.MemoryAppended) -> v.MemorySuperseded | None:
        before = self._strategies.get(memory.task_type)
        self._strategies[memory.task_type] = memory.memory_id
        return v.MemorySuperseded(memory_id=before, by=memory.memory_id) if before else None

    def _memory(self, k: int, phase: v.Phase, outcome: v.Outcome, kind: str, ordinal: int) -> v.MemoryAppended:
        self._made += 1
        memory_id = hashlib.sha256(str(self._made).encode()).hexdigest()[:32]
        task_type, question, embedding = self._case()
        memory = v.MemoryAppended(
            memory_id=memory_id, outcome=outcome, kind=kind,
            task_type=task_type, skill=self._one(SKILLS),
            question_id=f"wordmath-evolution-{k * QUESTIONS + ordinal}", question=question,
            recognise=self._text(15) if kind == "type_strategy" else "", reasoning=self._reasoning("7"), answer="7",
            wrong_answer="" if outcome == "success_memory" else "9", steps=(),
            origin=v.Origin(facts=(self._hash()[:32],)),
            iteration=k, phase=phase, ordinal=ordinal, embedding=embedding,
        )  # fmt: skip
        self._memories = [*self._memories[-50:], memory_id]
        return memory

    def _case(self) -> tuple[str, str, bytes]:
        if not self._cases:
            numbers = np.rint(self._numbers.standard_normal(self._dimension)).astype(np.float32)
            return self._one(self._task_types), self._text(60), (numbers / np.linalg.norm(numbers)).tobytes()
        task_type, text = self._cases.questions[int(self._random.random() * len(self._cases.questions))]
        words = [self._one(self._words) if self._random.random() < OTHERS else word for word in text.split()]
        [vector] = self._cases.embed([" ".join(words)])
        return task_type, " ".join(words), vector.tobytes()

    def _reward(self, bandit: Literal["search", "routing"], key: str, arm: str, question_id: str) -> v.BanditUpdated:
        alpha, beta, pulls = self._posteriors.get((bandit, key, arm), (v.MICRO, v.MICRO, 0))
        reward = self._random.randrange(v.MICRO + 1)
        after = self._posteriors[bandit, key, arm] = (alpha + reward, beta + v.MICRO - reward, pulls + 1)
        return v.BanditUpdated(
            bandit=bandit, key=key, arm=arm, question_id=question_id, reward_micro=reward, alpha_before=alpha,
            beta_before=beta, alpha_after=after[0], beta_after=after[1], pulls_after=after[2],
        )  # fmt: skip

    def _drafts(self, k: int, phase: v.Phase, events: Sequence[v.Event]) -> list[v.Draft]:
        if self._state:
            for event in events:
                self._state.apply(event)
        return [v.Draft(event=event, iteration=k, phase=phase, ordinal=i) for i, event in enumerate(events)]

    def _reasoning(self, answer: str) -> str:
        lines = []
        for _ in range(self._random.randrange(3, 8)):
            a, b = self._random.randrange(100), self._random.randrange(100)
            lines.append(f"{self._text(6)}: {a} * {b} = {a * b}")
        return "\n".join([*lines, f"#### {answer}"])

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(self._words, k=words))

    def _hash(self) -> str:
        return f"{self._random.getrandbits(256):064x}"

    def _one(self, names: list[str] | tuple[str, ...]) -> str:
        return names[int(self._random.random() * len(names))]


def _span(offset: int, memory_id: str) -> v.Span:
    return v.Span(offset=offset, length=190, source=f"memory/{memory_id}")
