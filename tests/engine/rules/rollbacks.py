"""Random histories in which the guard decides, lived through twice: by events, and by copies of the slots.

    python -m tests.engine.rules.rollbacks 20000

A history has skills that are created, refined and split, mastery that moves, and answers whose accuracy jumps about,
so that both guards roll back softly and hard. Whatever the events make of the slots must be what restoring the copy
taken at the snapshot makes of them (skills created since keep their initial values), and what masking leaves.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from random import Random
from typing import Literal

from mage_es.engine.commands import TakeSnapshot
from mage_es.engine.config import Config
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.snapshot import take_snapshot
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State
from tests.kit.plain_events import plain
from tests.kit.stages import masked
from tests.projections.test_slots import slots_of

ITERATIONS = 7
QUESTIONS = 20
Values = dict[str, list[object]]
"""Of each skill mastery, prompt template and strategy."""


class History:
    """One random history under one of the two guards."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        guard: Literal["paired", "paper"] = self.random.choice(["paired", "paper"])
        config = Config(benchmark="wordmath", guard=guard)
        self.setting = Setting(config, (), (), (), (), "")
        self.state = State()
        self.events: list[v.Event] = []
        self.values: Values = {}
        self.initial: Values = {}
        self.copies: dict[int, Values] = {}
        self.verdicts: Counter[str] = Counter()

    def live(self) -> None:
        """Live through the history. Raises `AssertionError` where the two accounts part."""
        self._create("skill0")
        for k in range(-1, ITERATIONS):
            for _ in range(self.random.randrange(4) if k >= 0 else 0):
                self._change(k)
            self._answer(k)
            self._snapshot(k)
            found = {name: self._slots(name) for name in self.values}
            assert found == self.values, f"iteration {k}: {found} by events, {self.values} by copies"
            assert self.state.slots.digest() == slots_of(masked(self.events)).digest(), f"iteration {k}: masks differ"

    def _slots(self, skill: str) -> list[object]:
        slots = self.state.slots
        return [slots.mastery(skill), slots.prompt_template(skill), slots.strategy(skill)]

    def _record(self, event: v.Event) -> None:
        self.events.append(event)
        self.state.apply(event)

    def _create(self, skill: str) -> None:
        mastery = self.random.random()
        self._record(v.SkillCreated(skill=skill, mastery=mastery, prompt_template="", strategy=f"of {skill}"))
        self.initial[skill] = [mastery, "", f"of {skill}"]
        self.values[skill] = list(self.initial[skill])

    def _change(self, k: int) -> None:
        skill, what = self.random.choice(sorted(self.values)), self.random.choice(["mastery", "refine", "create"])
        if what == "create":
            self._create(f"skill{len(self.values)}")
        elif what == "mastery":
            after = self.random.random()
            update = v.MasteryUpdated(
                iteration=k, skill=skill, before=0.0, after=after, evidence=0.5, successes=1, failures=1
            )
            self._record(update)
            self.values[skill][0] = after
        else:
            words = f"{k} {self.random.random()}"
            self._record(
                plain(v.SkillRefined, iteration=k, skill=skill, prompt_template=f"p {words}", strategy=f"s {words}")
            )
            self.values[skill][1:] = [f"p {words}", f"s {words}"]

    def _answer(self, k: int) -> None:
        accuracy = self.random.choice([0.3, 0.6, 0.9])
        for purpose in ("anchor", "fresh") if k >= 0 else ("anchor",):
            for place in range(QUESTIONS):
                self._record(
                    v.AnswerJudged(
                        iteration=k,
                        purpose="anchor" if purpose == "anchor" else "fresh",
                        question_id=f"q{place}",
                        task_type="t",
                        skill="skill0",
                        answer="",
                        score_micro=0,
                        correct=self.random.random() < accuracy,
                        strict=True,
                        judge="",
                    )
                )

    def _snapshot(self, k: int) -> None:
        for draft in take_snapshot(self.setting, self.state, TakeSnapshot(k)):
            self._record(draft.event)
            match draft.event:
                case v.GuardDecided(verdict=verdict):
                    self.verdicts[verdict] += 1
                case v.SnapshotTaken():
                    self.copies[k] = deepcopy(self.values)
                case v.SlotsRolledBack(to_iteration=there):
                    self.values = deepcopy(self.initial) | deepcopy(self.copies[there])


def live_all(seeds: Iterable[int]) -> Counter[str]:
    """Live through the histories of some seeds; return how often each verdict fell."""
    verdicts: Counter[str] = Counter()
    for seed in seeds:
        history = History(seed)
        try:
            history.live()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        verdicts += history.verdicts
    return verdicts


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{count} histories, no difference: {dict(live_all(range(count)))}")
