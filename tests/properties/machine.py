"""A run that random commands drive: decide, a real log on a forgetful disk, the projections; replies are scripted.

    python -m tests.properties.machine --examples 100 --steps 60

Any order of commands that the loop could come to, with crashes, restored snapshots and a curator at work in between.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec

from mage_es.engine.agents.critic import judgement
from mage_es.engine.agents.skill_discovery import assignments, targets
from mage_es.engine.briefs import AuthoredSkill, OntologyReply
from mage_es.engine.commands import (
    Asked,
    Authored,
    Call,
    CloseIteration,
    Command,
    CompletePhase,
    Curate,
    Evolve,
    InduceOntology,
    LearnFromAnswers,
    OpenRun,
    PlanAnswers,
    PlanIteration,
    RecordCall,
    RecordFacts,
    TakeSnapshot,
)
from mage_es.engine.config import Config
from mage_es.engine.courses import Ask, Fact, Finish, Move, Use, advance, begin, catch_up
from mage_es.engine.decide import decide
from mage_es.engine.players.worlds.wordmath import benchmark as wordmath
from mage_es.engine.rules.authoring import sources_of
from mage_es.engine.rules.near_duplicates import normalise
from mage_es.engine.run.world import World, open_world
from mage_es.engine.seams.model import Completion
from mage_es.engine.session.course_choice import planned_course
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.log import Log, LogReader
from mage_es.projections.fold import State, fold
from mage_es.projections.progress import CallKey
from mage_es.projections.snapshot_files import latest_snapshot, write_snapshot
from tests.events.disks import ForgetfulDisk
from tests.kit.invariants import sorted_dump
from tests.kit.stages import round_trip
from tests.properties.scripted import scripted

PATH = Path("/run/log")
CONFIG = Config(
    benchmark="wordmath", seed=3, iterations=8, pool=8, held_out=8, anchors=6, warmup=2, catastrophic_p=0.04
)
"""Few anchors, so that a wholly wrong answer sheet is already catastrophic."""
START = -1
_ROLL = 30
_PROTECTED = ("principle", "failure_memory", "success_memory")


@cache
def world_of(guard: str) -> World:
    """Return the world of the small run under a guard; with the paper's no anchor is ever asked."""
    with patch.dict(wordmath.SIZES, {"evolution": 60, "test": 20}):
        return open_world(msgspec.structs.replace(CONFIG, guard=guard), data_dir=None)


class Life:
    """A run in the hands of somebody who gives commands. Every method is one or more commits to its log."""

    def __init__(self, guard: str, seed: int) -> None:
        self.world = world_of(guard)
        self.setting = self.world.setting
        self.disk, self.clock = ForgetfulDisk(Random(seed)), count(1).__next__
        self.folder = tempfile.TemporaryDirectory()
        self.log = Log.create(PATH, run="r", clock=self.clock, fs=self.disk)
        self.state = State()
        self.copies: dict[int, dict[str, list[object]]] = {}
        self.initial: dict[str, list[object]] = {}
        self.protected: dict[str, object] = {}
        self.rollbacks: list[int] = []
        self.attempts = count(1)

    def do(self, command: Command) -> None:
        """Decide a command, make it durable, and apply it: what a session does."""
        self.commit(decide(self.setting, self.state, command))

    def commit(self, drafts: Sequence[v.Draft]) -> None:
        """Append events, and apply those that are new."""
        appended = self.log.append(drafts)
        for seq, event in zip(appended.seqs, appended.events, strict=True):
            if seq > self.state.seq:
                self.state.apply(event)
                self.state.seq = seq

    # ------------------------------------------------------------ where the run stands

    @property
    def iteration(self) -> int:
        """Return the iteration that is open."""
        return max(START, self.state.progress.closed + 1)

    def is_past(self, phase: v.Phase) -> bool:
        """Return whether a phase of the open iteration is behind."""
        return self.state.progress.is_completed(self.iteration, phase)

    def pending(self, phase: v.Phase) -> list[v.QuestionPlanned]:
        """Return the planned questions of a phase that have no verdict."""
        progress = self.state.progress
        return [plan for plan in progress.plans(phase) if not progress.is_judged(phase, plan.question_id)]

    # ------------------------------------------------------------ commands

    def open(self, *, prerequisites: Mapping[str, tuple[str, ...]]) -> None:
        """Commit to the splits, and create an ontology: a skill for every two task types, with these prerequisites."""
        world, types = self.world, self.setting.task_types
        self.do(OpenRun(world.started("r"), world.splits.events))
        names = [f"skill{place}" for place in range(0, len(types), 2)]
        skills = tuple(
            AuthoredSkill(
                name=name, description="", prerequisites=prerequisites.get(name, ()), resolves=types[2 * n :][:2]
            )
            for n, name in enumerate(names)
        )
        self.do(InduceOntology(types, OntologyReply(skills=skills)))
        self.initial = self.slots()

    def plan(self) -> None:
        """Choose the questions of an iteration."""
        self.do(PlanIteration(self.iteration))

    def plan_answers(self, phase: v.Phase) -> None:
        """Choose arms and bundles for the questions of a phase."""
        purposes: dict[str, v.Purpose] = dict.fromkeys(self.setting.anchors, "anchor")
        if phase == "evaluate":
            planned = self.state.progress.iteration_plan
            assert planned is not None
            purposes = {**dict.fromkeys(planned.fresh, "fresh"), **dict.fromkeys(planned.revisits, "revisit")}
        frozen = phase == "snapshot"
        self.do(PlanAnswers(self.iteration, phase, self.asked(purposes), frozen=frozen))

    def answer(self, phase: v.Phase, order: Sequence[int], *, right: int, words: str, moves: int) -> None:
        """Answer pending questions in an order, the first `right` of them rightly; of the last, so many moves only."""
        pending = self.pending(phase)
        chosen = [pending[place % len(pending)] for place in order]
        for number, planned in enumerate(dict.fromkeys(chosen)):
            question = self.world.questions[planned.question_id]
            text = f"{words}\n#### {question.gold if number < right else '-1'}"
            self._follow(phase, planned, text, moves=moves if number == len(set(chosen)) - 1 else 99)

    def complete(self, phase: v.Phase) -> None:
        """Mark a phase as complete."""
        self.do(CompletePhase(self.iteration, phase))

    def learn(self) -> None:
        """UPDATE."""
        names = [verdict.question_id for verdict in self.state.progress.verdicts("evaluate")]
        questions = {name: self.world.questions[name] for name in names}
        vectors = self.world.embedder.encode([question.question for question in questions.values()])
        self.do(LearnFromAnswers(self.iteration, questions, dict(zip(names, vectors, strict=True))))

    def evolve(self, words: str, *, unreadable: int) -> None:
        """EVOLVE, with every reply saying `words`; of these, one in `unreadable` cannot be read."""
        k, questions = self.iteration, self.world.questions
        chosen = targets(self.setting, self.state, k)
        authored = []
        for number, item in enumerate(assignments(self.setting, self.state, k, chosen, questions)):
            reply = scripted(item.brief, f"{words} {k}") if item.brief and (number + 1) % unreadable else None
            authored.append(Authored(item.task_type, item.action, reply, idle=item.idle))
        texts = sorted({text for item in authored for text in sources_of(item, questions)})
        vectors = dict(zip(texts, self.world.embedder.encode(texts), strict=True)) if texts else {}
        self.do(Evolve(k, chosen, authored, questions, vectors))
        self.initial |= {name: values for name, values in self.slots().items() if name not in self.initial}

    def snapshot(self) -> None:
        """Let the guard decide, hold the slots against copies of them, and close the iteration."""
        before, k = self.slots(), self.iteration
        drafts = decide(self.setting, self.state, TakeSnapshot(k))
        self.commit(drafts)
        for event in (draft.event for draft in drafts):
            if isinstance(event, v.SnapshotTaken):
                self.copies[k] = before
            elif isinstance(event, v.SlotsRolledBack):
                self.rollbacks.append(k)
                before = {**self.initial, **self.copies[event.to_iteration]}
        assert self.slots() == before, "the slots are not what restoring the copy makes of them"
        self.do(CloseIteration(k, self.state.digests()))

    def curate(self, place: int) -> None:
        """Take something out of use that is in use, or bring it back."""
        ids = self.learned()
        name = ids[place % len(ids)]
        status = (self.state.memory.row(name).status if name in self.memories() else "") or ""
        is_out = status == "quarantined" or any(
            view.is_quarantined(name) for view in (self.state.tools, self.state.recipes, self.state.patterns)
        )
        self.do(Curate(name, "release" if is_out else "quarantine", "because", "user", ordinal=next(self.attempts)))

    # ------------------------------------------------------------ accidents

    def crash(self, *, power: bool, from_snapshot: bool) -> None:
        """Lose the process, perhaps with the power, and go on from what the disk has."""
        known = self.state.digests()
        self.disk.crash(power=power)
        self.log = Log.open(PATH, clock=self.clock, fs=self.disk)
        self.restore(from_snapshot=from_snapshot)
        assert self.state.digests() == known, "the state after the crash is another one"
        resumed, at = (
            v.RunResumed(package_version="0", attempt=next(self.attempts)),
            max(START, self.state.progress.closed),
        )
        self.commit([v.Draft(event=resumed, iteration=at, phase="log", ordinal=resumed.attempt)])

    def keep(self) -> None:
        """Keep the fold as it stands, whether or not an iteration was just closed."""
        write_snapshot(Path(self.folder.name), self.state, chain=self.log.head.chain)

    def restore(self, *, from_snapshot: bool = True) -> None:
        """Take over the state that the newest kept fold and the log's tail give."""
        reader = LogReader(PATH, self.disk)
        self.state = fold(reader, state=latest_snapshot(Path(self.folder.name), reader) if from_snapshot else None)

    def end(self) -> None:
        """Close the log and delete what was kept."""
        self.log.close()
        self.folder.cleanup()

    # ------------------------------------------------------------ looking

    def slots(self) -> dict[str, list[object]]:
        """Return mastery, prompt template and strategy of every skill."""
        slots = self.state.slots
        return {
            skill: [slots.mastery(skill), slots.prompt_template(skill), slots.strategy(skill)]
            for skill in self.state.graph.skills()
        }

    def memories(self) -> dict[str, Any]:
        """Return every memory by its id."""
        return {row.memory_id: row for row in self.state.memory.rows()}

    def learned(self) -> list[str]:
        """Return the ids of everything that can be taken out of use."""
        recipes = [msgspec.structs.asdict(recipe) for recipe in self.state.recipes.recipes()]
        tools = [tool.tool_id for tool in self.state.tools.tools()]
        return sorted([*self.memories(), *tools, *(each["memory_id"] for each in recipes if "memory_id" in each)])

    def require_replay_is_live(self) -> None:
        """Check that the log, folded again, is the live state, and that its half-done work is the same, too."""
        replayed = fold(LogReader(PATH, self.disk))
        assert replayed.digests() == self.state.digests(), replayed.differing(self.state.digests())
        dumps = [sorted_dump(round_trip(state.progress.dump())) for state in (replayed, self.state)]
        assert dumps[0] == dumps[1], "the half-done work is another"

    def require_growth(self) -> None:
        """Check that nothing protected is gone, or has other words, since the last time."""
        said = {"status": "active", "superseded_by": "", "met": 1}
        rows = (row for row in self.memories().values() if row.outcome in _PROTECTED)
        now = {row.memory_id: msgspec.structs.replace(row, **said) for row in rows}
        assert (
            self.protected.items() <= now.items()
            if not self.protected
            else all(now.get(name) == content for name, content in self.protected.items())
        ), "something protected is gone or changed"
        self.protected = now

    def require_bounds(self) -> None:
        """Check that every mastery is one."""
        assert all(0 <= self.state.slots.mastery(skill) <= 1 for skill in self.state.graph.skills())

    def require_no_leak(self) -> None:
        """Check that no guarded question stands anywhere in what was learned, word for word."""
        learned = normalise("\n".join(self._texts()))
        for name in (*self.setting.anchors, *self.setting.held_out):
            assert normalise(self.world.questions[name].question) not in learned, f"{name} was learned"

    def _texts(self) -> Iterator[str]:
        for row in self.memories().values():
            yield from (row.question, row.reasoning, row.recognise, row.answer, row.wrong_answer)
            yield from (step.output for step in row.steps)
        for tool in self.state.tools.tools():
            yield from (tool.description, tool.source)
        for recipe in self.state.recipes.recipes():
            yield str(msgspec.structs.asdict(recipe).get("query_template", ""))
        for values in self.slots().values():
            yield from map(str, values[1:])

    # ------------------------------------------------------------ courses

    def asked(self, purposes: Mapping[str, v.Purpose]) -> list[Asked]:
        """Return questions about to be asked."""
        questions = [self.world.questions[name] for name in sorted(purposes)]
        types = self.world.typing.types_of(questions, self.state.graph.induced_types())
        return self.world.asked(self.state, questions, types, [purposes[question.id] for question in questions])

    def _follow(self, phase: v.Phase, planned: v.QuestionPlanned, text: str, *, moves: int) -> None:
        """Follow a question's course from where the log leaves it, each move a commit; judge it at its end."""
        course = planned_course(self.world, self.state, planned)
        move = begin(course)
        assert isinstance(move, Ask) and sha256_text(move.request.text) == planned.prompt_sha256, "another prompt"
        move = catch_up(course, move, lambda made: self._recorded(planned, made))
        for _ in range(moves):
            if isinstance(move, Finish):
                break
            self.do(self._made(phase, planned, move, text))
            fact = self._recorded(planned, move)
            assert fact is not None, "what was just recorded is not found"
            move = advance(course, fact)
        if isinstance(move, Finish):
            question = self.world.questions[planned.question_id]
            verdict = self.world.benchmark.score(question, move.reply)
            event = judgement(planned, verdict, reason=move.reason)
            self.do(RecordFacts.about(planned, phase, event, causation=0))

    def _made(self, phase: v.Phase, planned: v.QuestionPlanned, move: Move, text: str) -> Command:
        if isinstance(move, Use):
            ran = v.ToolRan(
                iteration=planned.iteration,
                purpose=planned.purpose,
                question_id=planned.question_id,
                tool_id=move.tool_id,
                arguments=move.arguments,
                result="7",
                problem="",
            )
            return RecordFacts.about(planned, phase, ran, causation=0)
        assert isinstance(move, Ask)
        reply = '{"a": 3}' if move.about.endswith("/1") and planned.routing_arm == "tool" else text
        call = Call(
            iteration=planned.iteration,
            phase=phase,
            tier="execution",
            agent="Learner",
            purpose=planned.purpose,
            about=move.about,
            attempt=0,
            request_sha256=move.request.sha256,
            model="scripted/one",
        )
        return RecordCall(call, Completion(text=reply, input_tokens=1, output_tokens=1), latency_us=0)

    def fact_of(self, planned: v.QuestionPlanned, move: Move, text: str) -> Fact:
        """Return the fact that a move would leave, without recording it."""
        fact = decide(self.setting, self.state, self._made("exam", planned, move, text))[0].event
        assert isinstance(fact, Fact)
        return fact

    def _recorded(self, planned: v.QuestionPlanned, move: Move) -> Fact | None:
        progress = self.state.progress
        if isinstance(move, Use):
            return progress.tool_run(planned.purpose, planned.question_id, move.tool_id, move.arguments)
        assert isinstance(move, Ask)
        return progress.call(CallKey("execution", planned.purpose, move.about, move.attempt, move.request.sha256))


def main() -> None:
    """Drive many runs, as the command line says."""
    from hypothesis import settings
    from hypothesis.stateful import run_state_machine_as_test

    from tests.properties.test_machine import RunMachine

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    budget = settings(
        max_examples=options.examples,
        stateful_step_count=options.steps,
        deadline=None,
        database=None,
        derandomize=False,
    )
    with patch("mage_es.events.wal.active.ROLL_EVENTS", _ROLL):
        run_state_machine_as_test(RunMachine, settings=budget)
    print(f"{options.examples} runs of at most {options.steps} commands, no violation")


if __name__ == "__main__":
    main()
