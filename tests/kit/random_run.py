"""A random but valid run, event by event: skills, answers, rewards, memories, verdicts of the guard and rollbacks."""

from collections.abc import Sequence
from random import Random
from typing import Any

from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from tests.kit.random_events import Drawn, drawn
from tests.kit.random_traffic import served
from tests.kit.random_writings import Writings
from tests.kit.stages import Stage

TASK_TYPES = ("age", "discount", "rate", "sharing")
SKILLS = ("algebra", "counting", "general", "ratios")


class RandomRun:
    """One possible run: what earlier events determine follows from them, and everything else is drawn."""

    def __init__(self, random: Random, questions: int) -> None:
        self.random, self.questions = random, questions
        self.mastery = dict.fromkeys(SKILLS, 0.0)
        self.snapshots: dict[int, dict[str, float]] = {}
        self.posteriors: dict[tuple[str, str, str], tuple[int, int, int]] = {}
        self.recalled: dict[tuple[str, int], tuple[int, int, int]] = {}
        self.met: dict[str, int] = {}
        self.active: list[v.MemoryAppended] = []
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
                Stage(k + 1, "serve", tuple(served(self.random, k, TASK_TYPES[0], SKILLS[0]))),
            ]
        return stages

    def _open(self) -> Stage:
        events: list[v.Event] = [
            v.SkillCreated(skill=skill, mastery=0.0, prompt_template="", strategy=f"attack {skill}") for skill in SKILLS
        ]
        events += [v.TaskTypeCreated(task_type=name, description=f"about {name}") for name in TASK_TYPES]
        events.append(v.EdgeAdded(kind="prerequisite_of", source="skill/counting", target="skill/ratios"))
        for name in TASK_TYPES:
            weight = self.random.choice([0.5, 1.0])
            skill = self.random.choice(SKILLS)
            events.append(
                v.EdgeAdded(kind="resolves", source=f"skill/{skill}", target=f"task_type/{name}", weight=weight)
            )
        events.append(self._merged())
        return Stage(-1, "open", (*events, v.PhaseCompleted(iteration=-1, phase="open")))

    def _plan(self, k: int) -> Stage:
        fresh = tuple(f"fresh-{k}-{i}" for i in range(self.questions))
        revisits = tuple(f"fresh-{k - 1}-{i}" for i in range(self.questions)) if k else ()
        planned = v.IterationPlanned(
            iteration=k, frontier=("counting",), brief="", epoch=k // 3, fresh=fresh, revisits=revisits, repeats=()
        )
        return Stage(k, "plan", (planned, v.PhaseCompleted(iteration=k, phase="plan")))

    def _explore(self, k: int) -> Stage:
        return Stage(k, "explore", (*self.writings.explored(k), v.PhaseCompleted(iteration=k, phase="explore")))

    def _answer(self, k: int, phase: v.Phase, purposes: Sequence[v.Purpose]) -> Stage:
        events: list[v.Event] = []
        for purpose in purposes:
            if purpose == "revisit" and k == 0:
                continue
            iteration = k - 1 if purpose == "revisit" else k
            name = "anchor-{}" if purpose == "anchor" else f"fresh-{iteration}-{{}}"
            for i in range(self.questions):
                events += self._answered(k, purpose, name.format(i))
        return Stage(k, phase, tuple(events), concurrent=True)

    def _answered(self, k: int, purpose: v.Purpose, question_id: str) -> list[v.Event]:
        correct = self.random.random() < 0.5
        text = f"{question_id} is {self.random.random()}"
        found = tuple(v.Retrieved(memory_id=row.memory_id, similarity=self.random.random()) for row in self.active[-2:])
        asked = {
            "iteration": k,
            "purpose": purpose,
            "question_id": question_id,
            "task_type": self.random.choice(TASK_TYPES),
            "skill": self.random.choice(SKILLS),
        }
        planned = self._drawn(
            v.QuestionPlanned,
            search_arm="balanced",
            search_probability=0.5,
            routing_arm="cot",
            routing_probability=1.0,
            memories=found,
            principles=(),
            **asked,
        )
        judged = self._drawn(v.AnswerJudged, score_micro=v.MICRO * correct, correct=correct, judge="rule", **asked)
        ran: list[v.Event] = [self.writings.ran(k, purpose, question_id)] if self.random.random() < 0.2 else []
        ran += [self.writings.found(k, purpose, question_id)] if self.random.random() < 0.2 else []
        return [planned, self._called(k, "execution", purpose, question_id, text), *ran, judged]

    def _called(self, k: int, tier: v.Tier, purpose: str, about: str, text: str) -> v.ModelCalled:
        latency = self.random.randrange(10**6)
        return self._drawn(
            v.ModelCalled,
            iteration=k,
            tier=tier,
            purpose=purpose,
            about=about,
            attempt=0,
            text=text,
            latency_us=latency,
        )

    def _drawn(self, cls: type[Drawn], **given: Any) -> Drawn:
        return drawn(cls, self.random, **given)

    def _update(self, k: int) -> Stage:
        self.ordinal = 0
        events: list[v.Event] = []
        for skill in sorted(self.random.sample(SKILLS, 2)):
            before, after = self.mastery[skill], self.random.random()
            self.mastery[skill] = after
            events.append(self._drawn(v.MasteryUpdated, iteration=k, skill=skill, before=before, after=after))
        for _ in range(self.questions):
            events.append(self._rewarded())
            events.append(self._memory(k, "update", "success_memory", ""))
        events.append(self._recall(k))
        events.append(self._probation(k))
        if self.active:
            again = self.random.choice(self.active)
            self.met[again.memory_id] += 1
            events.append(
                v.MemoryReinforced(memory_id=again.memory_id, question_id="q", count=self.met[again.memory_id])
            )
        return Stage(k, "update", (*events, v.PhaseCompleted(iteration=k, phase="update")))

    def _evolve(self, k: int) -> Stage:
        self.ordinal = 0
        new = tuple(sorted(set(self.random.sample(TASK_TYPES, 2)) - set(self.observed)))
        self.observed.update(dict.fromkeys(new, k))
        target = self.random.choice(sorted(self.observed))
        events: list[v.Event] = [
            self._called(k, "guidance", "failure_memories", target, "authored"),
            v.TargetsSelected(
                iteration=k,
                targets=(v.Target(task_type=target, failures=1, attempts=2, last_selected=k - 1),),
                newly_observed=new,
            ),
            self._memory(k, "evolve", "failure_memory", "specific"),
            self._memory(k, "evolve", "failure_memory", "type_strategy"),
            self._memory(k, "evolve", "principle", ""),
        ]
        if len(self.active) > 3 and self.random.random() < 0.7:
            older = self.active.pop(self.random.randrange(len(self.active) - 1))
            events.append(v.MemorySuperseded(memory_id=older.memory_id, by=self.active[-1].memory_id))
        events += self.writings.authored(k)
        return Stage(k, "evolve", (*events, v.PhaseCompleted(iteration=k, phase="evolve")))

    def _guard(self, k: int) -> Stage:
        to = self.random.choice(sorted(self.snapshots)) if self.snapshots and self.random.random() < 0.5 else None
        verdict = self._drawn(v.GuardDecided, iteration=k, verdict="accepted" if to is None else "soft_rollback")
        if to is None:
            self.snapshots[k] = dict(self.mastery)
            consequence: v.Event = v.SnapshotTaken(iteration=k)
        else:
            self.mastery = dict(self.snapshots[to])
            consequence = v.SlotsRolledBack(iteration=k, to_iteration=to)
        form = [self._drawn(v.FormDecided, iteration=k)] if k == 0 else []  # a run decides once
        completed = v.PhaseCompleted(iteration=k, phase="snapshot")
        return Stage(k, "snapshot", (verdict, self._benefit(k), *form, consequence, completed))

    def _benefit(self, k: int) -> v.BenefitDecided:
        records = [self._paired(name) for name in TASK_TYPES if self.random.random() < 0.7]
        return self._drawn(v.BenefitDecided, iteration=k, records=tuple(records), pooled=self._paired(""))

    def _paired(self, task_type: str) -> v.Paired:
        return self._drawn(v.Paired, task_type=task_type, served=self.random.choice(("learned", "bare")))

    def _recall(self, k: int) -> v.RecallCompared:
        drawn = sorted((name, agreement) for name in TASK_TYPES for agreement in (1, 2) if self.random.random() < 0.5)
        for key in drawn:
            questions, recalled, answered = self.recalled.get(key, (0, 0, 0))
            self.recalled[key] = (
                questions + 2,
                recalled + self.random.randrange(3),
                answered + self.random.randrange(3),
            )
        records = (
            v.Recall(task_type=name, agreement=agreement, questions=q, recalled=r, answered=a)
            for (name, agreement), (q, r, a) in ((key, self.recalled[key]) for key in drawn)
        )
        return v.RecallCompared(iteration=k, records=tuple(records))

    def _merged(self) -> v.RunMerged:
        names = sorted(f"{self.random.getrandbits(128):032x}" for _ in range(3))
        left_out = (v.LeftOut(memory_id=names.pop(), reason="question"),)
        return self._drawn(v.RunMerged, parent="other", memory_ids=tuple(names), left_out=left_out)

    def _probation(self, k: int) -> v.ProbationCounted:
        return self._drawn(v.ProbationCounted, iteration=k, parent="other", is_over=self.random.random() < 0.2)

    def _rewarded(self) -> v.BanditUpdated:
        key = (self.random.choice(("search", "routing")), self.random.choice(TASK_TYPES), "balanced")
        alpha, beta, pulls = self.posteriors.get(key, (v.MICRO, v.MICRO, 0))
        reward = self.random.randrange(v.MICRO + 1)
        self.posteriors[key] = after = (alpha + reward, beta + v.MICRO - reward, pulls + 1)
        return v.BanditUpdated(
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

    def _memory(self, k: int, phase: v.Phase, outcome: v.Outcome, kind: str) -> v.MemoryAppended:
        memory_id = sha256_text(f"{k}/{phase}/{self.ordinal}/{self.random.random()}")[:32]
        memory = self._drawn(
            v.MemoryAppended,
            memory_id=memory_id,
            outcome=outcome,
            kind=kind,
            task_type=self.random.choice(TASK_TYPES),
            skill=self.random.choice(SKILLS),
            question_id=f"fresh-{k}-{self.random.randrange(self.questions)}",
            iteration=k,
            phase=phase,
            ordinal=self.ordinal,
        )
        self.ordinal += 1
        self.met[memory_id] = 1
        self.active.append(memory)
        return memory


def _close(k: int) -> Stage:
    closed = v.IterationClosed(iteration=k, digests=(v.Digest(projection="graph", value=""),))
    resumed = v.RunResumed(package_version="0", attempt=k)
    return Stage(k, "close", (resumed, closed))
