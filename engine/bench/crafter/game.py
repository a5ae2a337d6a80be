"""One episode of `crafter`: seventeen named actions, the protocol's two contexts as the observation, progress as the
score.

Rules
    - An episode ends with death or after 2,000 steps, unless a run's own limit (500 in the paper) ends it earlier.
    - A reply that names no action is a Noop, and the next observation says so.
    - Achievements are not announced: as in the protocol, the player sees them in the inventory or not at all.
"""

from collections.abc import Sequence

from mage_es.engine.bench.crafter.changes import Change, change
from mage_es.engine.bench.crafter.handbook import ACHIEVEMENTS
from mage_es.engine.bench.crafter.replies import ACTIONS, action_in
from mage_es.engine.bench.crafter.simulator import Simulator, SimulatorState
from mage_es.engine.bench.crafter.wording import NOT_VALID, Scene, in_view, long_term, short_term
from mage_es.engine.seams.environment import Entity, Observation, StepOutcome

MOST_STEPS = 2_000
"""An episode ends after this many steps, as in the text protocol."""
_ROLLOUT = 64
"""Pixels per side in the simulator's own rollouts, which draw each step once."""
_NOOP = ACTIONS.index("Noop")
_ENGINE_NAMES = {name.lower().replace(" ", "_"): name for name in ACHIEVEMENTS}


class CrafterGame:
    def __init__(self, seed: int) -> None:
        self._simulator = Simulator(seed)
        self._left = MOST_STEPS
        self._achieved: list[str] = []

    def reset(self) -> Observation:
        """Generate the world, wait one step, and return what is visible then."""
        self._simulator.reset()
        self._now = self._simulator.step(_NOOP)
        return self._observation("", None)

    def valid_actions(self) -> tuple[str, ...]:
        return ACTIONS

    def parse(self, reply: str) -> str | None:
        return action_in(reply)

    def step(self, action: str | None) -> StepOutcome:
        before, self._now = self._now, self._simulator.step(_NOOP if action is None else ACTIONS.index(action))
        new = tuple(name for name in _reached(self._now) if name not in self._achieved)
        self._achieved += new
        self._left -= 1
        happened = change(action or "Noop", before, self._now, new)
        return StepOutcome(
            observation=self._observation(NOT_VALID if action is None else "", happened),
            effect=happened.text,
            reward=self._now.reward,
            achievements=new,
            done=happened.is_dead or self._left == 0,
        )

    def score(self) -> float:
        return len(self._achieved) / len(ACHIEVEMENTS)

    def _observation(self, notice: str, happened: Change | None) -> Observation:
        now = self._now
        is_dead = now.inventory["health"] <= 0
        scene = Scene(now.semantic, now.position, now.facing, is_sleeping=now.is_sleeping, is_dead=is_dead)
        text = notice + long_term(scene)
        seen = [Entity(thing.name, "thing") for thing in in_view(scene)]
        gained = [Entity(name, "item") for name in (happened.gained if happened else ())]
        reached = [Entity(name, "achievement") for name in (happened.achieved if happened else ())]
        return Observation(
            text=f"{short_term(now.inventory)}\n\n{text}",
            entities=(*seen, *gained, *reached),
            relations=happened.relations if happened else (),
            recalled=text,
        )


def rolled_out(seed: int, actions: Sequence[int]) -> list[str]:
    """Return the achievements of a rollout of the simulator: its actions by number.

    Unlike an episode it has no Noop before its first action, so the same actions may lead elsewhere.
    """
    simulator, reached = Simulator(seed, size=_ROLLOUT), list[str]()
    simulator.reset()
    for action in actions[:MOST_STEPS]:
        shown = simulator.step(action, renders=1)
        reached = _reached(shown)
        if shown.inventory["health"] <= 0:
            break
    return reached


def _reached(shown: SimulatorState) -> list[str]:
    return [_ENGINE_NAMES[name] for name, count in shown.counts.items() if count]
