"""Theorem 3, ratchet stability, in the form that is true: (1 - gamma) m <= m' <= m + alpha (1 - m) in every step.

So m_k >= max over k' of (1 - gamma)^(k - k') m_k', k counting the steps of a skill. The printed form lets the bound
shrink by j steps while the peak may be further back; it is false: gamma 0.1, m = 1 and two steps with evidence 0 give
0.81 < 0.9. A rollback resets the mastery to a snapshot, and the peak counts from there.
"""

from mage_es.engine.config import Config
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.seams.check import Check
from mage_es.events.errors import LogError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import Event, MasteryUpdated, SkillCreated, SlotsRolledBack
from mage_es.projections.slots import Slots

NAME = "ratchet"
ROUNDING = 1e-9  # tolerance for double precision if a bound is met exactly


def check_ratchet(reader: LogReader, config: Config) -> Check:
    """Return whether every step of every skill keeps within both bounds, and starts where the last one ended.

    [Theorem 3] The paper states it in a form that is false (0.81 < 0.9). The true form is m_k >= max over k' of (1 -
    gamma)^(k - k') m_k'.
    """
    walk, slots, steps = _Walk(config), Slots(), 0
    inherited = last_inherited(reader)  # taken with the parent's alpha and gamma, which may differ
    for seq, event in reader.numbered(*Slots.reads):
        try:
            problem = walk.problem(event, slots) if seq > inherited else walk.take_over(event)
            slots.apply(event)
        except (KeyError, LogError) as error:
            problem = f"it refers to something that does not exist: {error}"
        if problem:
            measured = f"least slack {walk.slack:.3g}"
            return Check(name=NAME, ok=False, detail=problem, measured=measured, bound="at least 0", seq=seq)
        if isinstance(event, SlotsRolledBack):
            walk.restart(slots)
        steps += isinstance(event, MasteryUpdated) and seq > inherited
    constants = f"alpha {config.mastery_increase:g}, gamma {config.mastery_decay:g}"
    detail = f"steps {steps}, skills {len(walk.floors)}, {constants}"
    slack = 0.0 if abs(walk.slack) < ROUNDING else walk.slack
    measured = f"least slack {slack:.3g}" if steps else "no step yet"
    return Check(name=NAME, ok=True, detail=detail, measured=measured, bound="at least 0")


class _Walk:
    """The least mastery that each skill may have at this point, and the smallest margin of any step."""

    def __init__(self, config: Config) -> None:
        self.increase, self.decay = config.mastery_increase, config.mastery_decay
        self.floors: dict[str, float] = {}
        self.slack = 1.0

    def take_over(self, event: Event) -> str:
        if isinstance(event, SkillCreated | MasteryUpdated):
            self.floors[event.skill] = event.mastery if isinstance(event, SkillCreated) else event.after
        return ""

    def problem(self, event: Event, slots: Slots) -> str:
        if isinstance(event, SkillCreated):
            self.floors[event.skill] = event.mastery
        if not isinstance(event, MasteryUpdated):
            return ""
        skill, before, after = event.skill, event.before, event.after
        if before != slots.mastery(skill):
            return f"a step of {skill} starts at {before:g}, where its mastery was {slots.mastery(skill):g}"
        floor = (1 - self.decay) * max(self.floors[skill], before)
        ceiling = before + self.increase * (1 - before)
        self.floors[skill] = max(floor, after)
        self.slack = min(self.slack, after - floor, ceiling - after)
        if self.slack < -ROUNDING:
            return f"{skill} went from {before:g} to {after:g}, outside of {floor:g} to {ceiling:g}"
        return ""

    def restart(self, slots: Slots) -> None:
        self.floors = {skill: slots.mastery(skill) for skill in self.floors}
