"""Random but valid histories of runs, as hypothesis strategies; and a log that is only a list.

A history is a list of steps. A step is what one phase of one iteration recorded; the events of a step that is
`concurrent` may come in any order that keeps each question's plan, reply and verdict in this order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple, cast

import msgspec
import numpy as np
from hypothesis import strategies as st

from mage_es.events.batches import Batch, Batches
from mage_es.events.digests import sha256_text
from mage_es.events.documents import Head
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import (
    MICRO,
    AnswerJudged,
    BanditUpdated,
    Digest,
    EdgeAdded,
    Event,
    GuardDecided,
    IterationClosed,
    IterationPlanned,
    MasteryUpdated,
    MemoryAppended,
    MemoryReinforced,
    MemorySuperseded,
    ModelCalled,
    Outcome,
    Phase,
    PhaseCompleted,
    Purpose,
    QuestionPlanned,
    Retrieved,
    RunResumed,
    SkillCreated,
    SlotsRolledBack,
    SnapshotTaken,
    Span,
    Step,
    Target,
    TargetsSelected,
    TaskTypeCreated,
    Tier,
)
from mage_es.projections.fold import State
from tests.projections.writings import Writings

DIMENSION = 8
TASK_TYPES = ("age", "discount", "rate", "sharing")
SKILLS = ("algebra", "counting", "general", "ratios")


class Stage(NamedTuple):
    """What a phase recorded. In a concurrent one the events of different questions may interleave anyhow."""

    iteration: int
    phase: Phase
    events: tuple[Event, ...]
    concurrent: bool = False


class ListSource:
    """A log that is a list; gives fields that were not asked for as None, as sealed columns do."""

    def __init__(self, events: Sequence[Event], *, run: str = "run-1", stretch: int = 50) -> None:
        self.run, self.stretch = run, stretch
        self._events = list(events)

    @property
    def head(self) -> Head:
        return Head(len(self._events), chain_at(self._events, len(self._events)))

    def events(
        self, reads: Mapping[type[Event], Collection[str]], *, since: int = 1, until: int | None = None
    ) -> Iterator[tuple[int, Event]]:
        for seq, event in enumerate(self._events[since - 1 : until], start=since):
            if type(event) in reads:
                yield seq, only(event, reads[type(event)])

    def batches(
        self, reads: Mapping[type[Event], tuple[str, ...]], *, since: int = 1, until: int | None = None
    ) -> Iterator[Batches]:
        pairs = list(self.events(reads, since=since, until=until))
        for start in range(0, len(pairs), self.stretch):
            stretch = pairs[start : start + self.stretch]
            by_type: dict[type[Event], list[tuple[int, Event]]] = {}
            for seq, event in stretch:
                by_type.setdefault(type(event), []).append((seq, event))
            yield {
                cls: Batch.of(cls, [seq for seq, _ in found], [event for _, event in found], reads[cls])
                for cls, found in by_type.items()
            }

    def last(self, cls: type[Event], *, since: int = 1, until: int | None = None) -> int:
        return max((seq for seq, _ in self.events({cls: ()}, since=since, until=until)), default=0)


def chain_at(events: Sequence[Event], seq: int) -> str:
    return sha256_text(repr(events[:seq]))


def only(event: Event, fields: Collection[str]) -> Event:
    """Return the event with every field but these None."""
    values = {name: getattr(event, name) if name in fields else None for name in event.__struct_fields__}
    return type(event)(**values)


def flat(stages: Sequence[Stage]) -> list[Event]:
    return [event for stage in stages for event in stage.events]


def shuffled(stages: Sequence[Stage], random: Random) -> list[Event]:
    """Return the events with those of each concurrent stage interleaved anew, question by question in order."""
    events: list[Event] = []
    for stage in stages:
        if not stage.concurrent:
            events += stage.events
            continue
        lanes: dict[str, list[Event]] = {}
        for event in stage.events:
            about = event.about if isinstance(event, ModelCalled) else cast(QuestionPlanned, event).question_id
            lanes.setdefault(about, []).append(event)
        while lanes:
            lane = random.choice(sorted(lanes))
            events.append(lanes[lane].pop(0))
            lanes = {about: rest for about, rest in lanes.items() if rest}
    return events


@st.composite
def histories(draw: st.DrawFn, *, most_iterations: int = 4) -> list[Stage]:
    """Draw a whole run: opening, then up to `most_iterations` iterations with every phase."""
    iterations = draw(st.integers(0, most_iterations))
    seed = draw(st.integers(0, 2**32 - 1))
    return history(seed=seed, iterations=iterations, questions=draw(st.integers(1, 6)))


def history(*, seed: int, iterations: int, questions: int) -> list[Stage]:
    """Return the history of a run of so many iterations with so many questions each."""
    return _Run(Random(seed), questions).stages(iterations)


class _Run:
    def __init__(self, random: Random, questions: int) -> None:
        self.random, self.questions = random, questions
        self.mastery = dict.fromkeys(SKILLS, 0.0)
        self.snapshots: dict[int, dict[str, float]] = {}
        self.posteriors: dict[tuple[str, str, str], tuple[int, int, int]] = {}
        self.met: dict[str, int] = {}
        self.active: list[MemoryAppended] = []
        self.observed: dict[str, int] = {}
        self.ordinal = 0
        self.writings = Writings(random, skills=SKILLS, task_types=TASK_TYPES)

    def stages(self, iterations: int) -> list[Stage]:
        stages = [self._open(), self._answer(-1, "snapshot", ("anchor",)), self._guard(-1), _close(-1)]
        for k in range(iterations):
            stages += [
                self._plan(k),
                self._explore(k),
                self._answer(k, "evaluate", ("fresh", "revisit")),
                self._update(k),
                self._evolve(k),
                self._answer(k, "snapshot", ("anchor",)),
                self._guard(k),
                _close(k),
                Stage(k, "log", tuple(self.writings.curated([row.memory_id for row in self.active]))),
            ]
        return stages

    def _open(self) -> Stage:
        events: list[Event] = [
            SkillCreated(skill=skill, mastery=0.0, prompt_template="", strategy=f"attack {skill}") for skill in SKILLS
        ]
        events += [TaskTypeCreated(task_type=name, description=f"about {name}") for name in TASK_TYPES]
        events.append(EdgeAdded(kind="prerequisite_of", source="skill/counting", target="skill/ratios"))
        for name in TASK_TYPES:
            weight = self.random.choice([0.5, 1.0])
            skill = self.random.choice(SKILLS)
            events.append(
                EdgeAdded(kind="resolves", source=f"skill/{skill}", target=f"task_type/{name}", weight=weight)
            )
        return Stage(-1, "open", (*events, PhaseCompleted(iteration=-1, phase="open")))

    def _plan(self, k: int) -> Stage:
        fresh = tuple(f"fresh-{k}-{i}" for i in range(self.questions))
        revisits = tuple(f"fresh-{k - 1}-{i}" for i in range(self.questions)) if k else ()
        planned = IterationPlanned(
            iteration=k, frontier=("counting",), brief="", epoch=k // 3, fresh=fresh, revisits=revisits, repeats=()
        )
        return Stage(k, "plan", (planned, PhaseCompleted(iteration=k, phase="plan")))

    def _explore(self, k: int) -> Stage:
        return Stage(k, "explore", (*self.writings.explored(k), PhaseCompleted(iteration=k, phase="explore")))

    def _answer(self, k: int, phase: Phase, purposes: Sequence[Purpose]) -> Stage:
        events: list[Event] = []
        for purpose in purposes:
            if purpose == "revisit" and k == 0:
                continue
            iteration = k - 1 if purpose == "revisit" else k
            name = "anchor-{}" if purpose == "anchor" else f"fresh-{iteration}-{{}}"
            for i in range(self.questions):
                events += self._answered(k, purpose, name.format(i))
        return Stage(k, phase, tuple(events), concurrent=True)

    def _answered(self, k: int, purpose: Purpose, question_id: str) -> list[Event]:
        task_type, skill = self.random.choice(TASK_TYPES), self.random.choice(SKILLS)
        correct = self.random.random() < 0.5
        text = f"{question_id} is {self.random.random()}"
        found = tuple(Retrieved(memory_id=row.memory_id, similarity=self.random.random()) for row in self.active[-2:])
        planned = QuestionPlanned(
            iteration=k,
            purpose=purpose,
            question_id=question_id,
            task_type=task_type,
            skill=skill,
            search_arm="balanced",
            search_probability=0.5,
            routing_arm="cot",
            routing_probability=1.0,
            memories=found,
            principles=(),
            template="answer_cot@1",
            prompt_sha256=sha256_text(question_id),
            spans=(Span(offset=3, length=4, source="memory"),),
        )
        judged = AnswerJudged(
            iteration=k,
            purpose=purpose,
            question_id=question_id,
            task_type=task_type,
            skill=skill,
            answer="4",
            expected="4" if correct else "5",
            score_micro=MICRO * correct,
            correct=correct,
            strict=True,
            judge="rule",
        )
        ran = [self.writings.ran(k, purpose, question_id)] if self.random.random() < 0.2 else []
        return [planned, self._called(k, "execution", purpose, question_id, text), *ran, judged]

    def _called(self, k: int, tier: Tier, purpose: str, about: str, text: str) -> ModelCalled:
        return ModelCalled(
            iteration=k,
            tier=tier,
            agent="learner" if tier == "execution" else "skill_discovery",
            purpose=purpose,
            about=about,
            attempt=0,
            request_sha256=sha256_text(about + purpose),
            model="scripted/one",
            text=text,
            stop_reason="end",
            input_tokens=self.random.randrange(100),
            output_tokens=self.random.randrange(100),
            latency_us=self.random.randrange(10**6),
        )

    def _update(self, k: int) -> Stage:
        self.ordinal = 0
        events: list[Event] = []
        for skill in sorted(self.random.sample(SKILLS, 2)):
            before, after = self.mastery[skill], self.random.random()
            self.mastery[skill] = after
            events.append(
                MasteryUpdated(
                    iteration=k, skill=skill, before=before, after=after, evidence=after, successes=2, failures=1
                )
            )
        for _ in range(self.questions):
            events.append(self._rewarded())
            events.append(self._memory(k, "update", "success_memory", ""))
        if self.active:
            again = self.random.choice(self.active)
            self.met[again.memory_id] += 1
            events.append(MemoryReinforced(memory_id=again.memory_id, question_id="q", count=self.met[again.memory_id]))
        return Stage(k, "update", (*events, PhaseCompleted(iteration=k, phase="update")))

    def _evolve(self, k: int) -> Stage:
        self.ordinal = 0
        new = tuple(sorted(set(self.random.sample(TASK_TYPES, 2)) - set(self.observed)))
        self.observed.update(dict.fromkeys(new, k))
        target = self.random.choice(sorted(self.observed))
        events: list[Event] = [
            self._called(k, "guidance", "failure_memories", target, "authored"),
            TargetsSelected(
                iteration=k,
                targets=(Target(task_type=target, failures=1, attempts=2, last_selected=k - 1),),
                newly_observed=new,
            ),
            self._memory(k, "evolve", "failure_memory", "specific"),
            self._memory(k, "evolve", "failure_memory", "type_strategy"),
            self._memory(k, "evolve", "principle", ""),
        ]
        if len(self.active) > 3 and self.random.random() < 0.7:
            older = self.active.pop(self.random.randrange(len(self.active) - 1))
            events.append(MemorySuperseded(memory_id=older.memory_id, by=self.active[-1].memory_id))
        events += self.writings.authored(k)
        return Stage(k, "evolve", (*events, PhaseCompleted(iteration=k, phase="evolve")))

    def _guard(self, k: int) -> Stage:
        to = self.random.choice(sorted(self.snapshots)) if self.snapshots and self.random.random() < 0.5 else None
        verdict = GuardDecided(
            iteration=k,
            verdict="accepted" if to is None else "soft_rollback",
            correct=1,
            total=2,
            against=k - 1,
            drop=0.0,
            p_value=1.0,
            best=-1,
            best_drop=0.0,
            best_p_value=1.0,
            smallest_drop=0.1,
        )
        if to is None:
            self.snapshots[k] = dict(self.mastery)
            consequence: Event = SnapshotTaken(iteration=k)
        else:
            self.mastery = dict(self.snapshots[to])
            consequence = SlotsRolledBack(iteration=k, to_iteration=to)
        return Stage(k, "snapshot", (verdict, consequence, PhaseCompleted(iteration=k, phase="snapshot")))

    def _rewarded(self) -> BanditUpdated:
        key = (self.random.choice(("search", "routing")), self.random.choice(TASK_TYPES), "balanced")
        alpha, beta, pulls = self.posteriors.get(key, (MICRO, MICRO, 0))
        reward = self.random.randrange(MICRO + 1)
        self.posteriors[key] = after = (alpha + reward, beta + MICRO - reward, pulls + 1)
        return BanditUpdated(
            bandit="search" if key[0] == "search" else "routing",
            key=key[1],
            arm=key[2],
            question_id=f"q{pulls}",
            reward_micro=reward,
            alpha_before=alpha,
            beta_before=beta,
            alpha_after=after[0],
            beta_after=after[1],
            pulls_after=after[2],
        )

    def _memory(self, k: int, phase: Phase, outcome: Outcome, kind: str) -> MemoryAppended:
        memory_id = sha256_text(f"{k}/{phase}/{self.ordinal}/{self.random.random()}")[:32]
        vector = np.array([self.random.gauss(0, 1) for _ in range(DIMENSION)], dtype="<f4")
        memory = MemoryAppended(
            memory_id=memory_id,
            outcome=outcome,
            kind=kind,
            task_type=self.random.choice(TASK_TYPES),
            skill=self.random.choice(SKILLS),
            question_id=f"fresh-{k}-{self.random.randrange(self.questions)}",
            question="How many apples — or “pears” — are left?",
            recognise="something is taken away" if kind == "type_strategy" else "",
            reasoning="5 - 3 = 2\nso 2",
            answer="2",
            wrong_answer="8" if outcome == "failure_memory" else "",
            steps=tuple(Step(skill="counting", output=str(i)) for i in range(self.random.randrange(3))),
            derived_from=sha256_text(memory_id)[:32],
            iteration=k,
            phase=phase,
            ordinal=self.ordinal,
            embedding=vector.tobytes(),
        )
        self.ordinal += 1
        self.met[memory_id] = 1
        self.active.append(memory)
        return memory


def _close(k: int) -> Stage:
    closed = IterationClosed(iteration=k, digests=(Digest(projection="graph", value=""),))
    resumed = RunResumed(package_version="0", attempt=k)
    return Stage(k, "close", (resumed, closed))


def round_trip(dumped: object) -> object:
    """Return what a snapshot's file gives back."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(dumped))


def with_digests(events: Sequence[Event]) -> list[Event]:
    """Return the events with the true digests in every `IterationClosed`, as a live run records them."""
    state, closed = State(), []
    for event in events:
        if isinstance(event, IterationClosed):
            event = msgspec.structs.replace(event, digests=state.digests())
        state.apply(event)
        closed.append(event)
    return closed


def folded(events: Sequence[Event]) -> State:
    """Return the live state after these events."""
    state = State()
    for event in events:
        state.apply(event)
    return state


def drafts_of(stages: Sequence[Stage]) -> list[list[Draft]]:
    """Return what a live run hands to its log: one batch for each stage, digests of closed iterations included."""
    events = iter(with_digests(flat(stages)))
    return [
        [
            Draft(event=next(events), iteration=stage.iteration, phase=stage.phase, ordinal=ordinal)
            for ordinal in range(len(stage.events))
        ]
        for stage in stages
    ]
