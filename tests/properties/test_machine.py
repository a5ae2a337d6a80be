"""Random commands, in any order that a run could come to: after every one the log is the state, and nothing is lost."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mage_es.engine.auditing.theorems.coverage import check_coverage
from mage_es.engine.auditing.theorems.growth import check_growth
from mage_es.engine.auditing.theorems.leaks import check_leaks
from mage_es.engine.auditing.theorems.ratchet import check_ratchet
from mage_es.engine.auditing.theorems.replay import check_replay
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import Phase
from tests.properties.machine import CONFIG, PATH, START, Life, world_of

pytestmark = pytest.mark.slow

GUARDED = [world_of("paired").questions[name].question for name in world_of("paired").setting.held_out[:2]]
WORDS = st.sampled_from(
    ["add, then take away", "first 3 + 4 = 7", *GUARDED, f"So we learn: {GUARDED[0].upper()} It is 4."]
)
"""What a model says: now and then, a question that must not be learned."""


class RunMachine(RuleBasedStateMachine):
    """Drives one run."""

    def __init__(self) -> None:
        super().__init__()
        self.life: Life | None = None

    def ready(self, phase: Phase) -> bool:
        """Return whether an iteration is open, past its plan, and not past this phase."""
        life = self.life
        return life is not None and life.iteration > START and life.is_past("plan") and not life.is_past(phase)

    @initialize(guard=st.sampled_from(["paired", "paper"]), seed=st.integers(0, 99), chained=st.booleans())
    def begin(self, guard: str, seed: int, chained: bool) -> None:
        """Open a run, with prerequisites among which there may be a cycle."""
        self.life = Life(guard, seed)
        needs = {"skill2": ("skill0",), "skill4": ("skill2", "skill0"), "skill0": ("skill4",)} if chained else {}
        self.life.open(prerequisites=needs)

    @precondition(lambda self: self.life and self.life.iteration > START and not self.life.is_past("plan"))
    @rule()
    def plan(self) -> None:
        """PLAN."""
        assert self.life
        if self.life.iteration < CONFIG.iterations:
            self.life.plan()

    @precondition(lambda self: self.asking() is not None)
    @rule()
    def plan_answers(self) -> None:
        """Choose arms and bundles."""
        phase = self.asking()
        assert self.life and phase
        self.life.plan_answers(phase)

    def asking(self) -> Phase | None:
        """Return the phase whose questions are to be planned now, if any."""
        life = self.life
        if life and self.ready("evaluate") and not life.state.progress.plans("evaluate"):
            return "evaluate"
        at_end = life and (life.iteration == START or (self.ready("snapshot") and life.is_past("evolve")))
        wanted = life and life.setting.anchors and not life.state.progress.plans("snapshot")
        return "snapshot" if at_end and wanted else None

    @precondition(lambda self: self.answering() is not None)
    @rule(
        order=st.lists(st.integers(0, 20), min_size=1, max_size=14),
        right=st.sampled_from([0, 3, 99]),
        words=WORDS,
        moves=st.sampled_from([0, 1, 99]),
    )
    def answer(self, order: list[int], right: int, words: str, moves: int) -> None:
        """Answer some questions in any order, perhaps the last one only in part."""
        phase = self.answering()
        assert self.life and phase
        self.life.answer(phase, order, right=right, words=words, moves=moves)

    def answering(self) -> Phase | None:
        """Return a phase with questions that have no verdict, if any."""
        phases: tuple[Phase, ...] = ("evaluate", "snapshot")
        return next((phase for phase in phases if self.life and self.life.pending(phase)), None)

    @precondition(lambda self: self.answering() is not None)
    @rule(right=st.sampled_from([0, 99]), words=WORDS)
    def answer_the_rest(self, right: int, words: str) -> None:
        """Answer all that are left: rightly, or all of them wrongly."""
        phase = self.answering()
        assert self.life and phase
        self.life.answer(phase, range(len(self.life.pending(phase))), right=right, words=words, moves=99)

    @precondition(lambda self: self.ready("evaluate") and self.answered("evaluate"))
    @rule()
    def complete(self) -> None:
        """End EVALUATE."""
        assert self.life
        self.life.complete("evaluate")

    def answered(self, phase: Phase) -> bool:
        """Return whether every question of a phase was planned and judged."""
        return bool(self.life and self.life.state.progress.plans(phase) and not self.life.pending(phase))

    @precondition(lambda self: self.ready("update") and self.life.is_past("evaluate"))
    @rule()
    def learn(self) -> None:
        """UPDATE."""
        assert self.life
        self.life.learn()

    @precondition(lambda self: self.ready("evolve") and self.life.is_past("update"))
    @rule(words=WORDS, unreadable=st.sampled_from([2, 99]))
    def evolve(self, words: str, unreadable: int) -> None:
        """EVOLVE."""
        assert self.life
        self.life.evolve(words, unreadable=unreadable)

    @precondition(lambda self: self.may_close())
    @rule()
    def snapshot(self) -> None:
        """SNAPSHOT: the guard, perhaps a rollback (of a rollback), and the end of the iteration."""
        assert self.life
        self.life.snapshot()

    def may_close(self) -> bool:
        """Return whether only the guard's verdict is missing."""
        life = self.life
        if life is None or not (life.iteration == START or (self.ready("snapshot") and life.is_past("evolve"))):
            return False
        return not life.setting.anchors or self.answered("snapshot")

    @precondition(lambda self: self.life)
    @rule(steps=st.integers(1, 12), right=st.sampled_from([0, 3, 99]), words=WORDS)
    def go_on(self, steps: int, right: int, words: str) -> None:
        """Do whatever comes next, a few times: the only way to come far within few commands."""
        for _ in range(steps):
            self.step(right, words)
            self.nothing_is_lost()

    def step(self, right: int, words: str) -> None:
        """Do what comes next."""
        assert self.life
        if asking := self.asking():
            self.life.plan_answers(asking)
        elif answering := self.answering():
            self.life.answer(answering, range(99), right=right, words=words, moves=99)
        elif self.may_close():
            self.life.snapshot()
        elif not self.life.is_past("plan"):
            self.plan()
        elif self.ready("evaluate"):
            self.life.complete("evaluate")
        elif self.ready("update"):
            self.life.learn()
        elif self.ready("evolve"):
            self.life.evolve(words, unreadable=5)

    @precondition(lambda self: self.life and self.life.learned())
    @rule(place=st.integers(0, 99))
    def curate(self, place: int) -> None:
        """Take something out of use or bring it back, at any moment, also between a plan and its answers."""
        assert self.life
        self.life.curate(place)

    @precondition(lambda self: self.life)
    @rule(power=st.booleans(), from_snapshot=st.booleans())
    def crash(self, power: bool, from_snapshot: bool) -> None:
        """Lose the process."""
        assert self.life
        self.life.crash(power=power, from_snapshot=from_snapshot)

    @precondition(lambda self: self.life)
    @rule(at_once=st.booleans())
    def keep(self, at_once: bool) -> None:
        """Keep a fold, and perhaps go on from it."""
        assert self.life
        self.life.keep()
        if at_once:
            self.life.restore()

    @invariant()
    def nothing_is_lost(self) -> None:
        """Replay is live, what is protected grows, mastery is in its bounds, nothing guarded was learned."""
        if self.life:
            self.life.require_replay_is_live()
            self.life.require_growth()
            self.life.require_bounds()
            self.life.require_no_leak()

    def teardown(self) -> None:
        """Hold every theorem against the log in the end."""
        if self.life is None:
            return
        reader = LogReader(PATH, self.life.disk)
        config = self.life.setting.config
        checks = [check_growth(reader), check_ratchet(reader, config), check_leaks(reader)]
        checks += [check_coverage(reader, config), check_replay(reader, PATH.parent / "none")]
        self.life.end()
        assert all(check.ok for check in checks), [check.detail for check in checks if not check.ok]


TestRunMachine = RunMachine.TestCase
TestRunMachine.settings = settings(
    max_examples=4,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
