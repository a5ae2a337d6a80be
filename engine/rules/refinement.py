"""Prompt refinement as an event: new values of a skill's prompt template and strategy, the old ones beside them."""

from __future__ import annotations

from mage_es.engine.briefs import RefinementReply
from mage_es.engine.rules.harvest import capped
from mage_es.engine.rules.rotation import Written
from mage_es.events.vocabulary import Origin, SkillRefined
from mage_es.projections.fold import State

SLOT_LENGTH = 1200
"""Most characters of each of the two slots, cut at a line border: every prompt of the skill carries them."""


def refine(state: State, *, iteration: int, skill: str, reply: RefinementReply, origin: Origin) -> Written:
    """Return the refinement; an empty slot of the reply leaves the skill's own, and no change is no event.

    [section 3.3, prompt refinement] The event holds both slots before and after.
    """
    template_before, strategy_before = state.slots.prompt_template(skill), state.slots.strategy(skill)
    # An empty slot in a reply means "keep it": no model is asked to repeat what is good.
    template = capped(reply.prompt_template.strip(), SLOT_LENGTH) or template_before
    strategy = capped(reply.strategy.strip(), SLOT_LENGTH) or strategy_before
    if (template, strategy) == (template_before, strategy_before):
        return Written()
    # With the values before: a log can be read backwards without folding it.
    refined = SkillRefined(
        iteration=iteration,
        skill=skill,
        prompt_template=template,
        strategy=strategy,
        prompt_template_before=template_before,
        strategy_before=strategy_before,
        origin=origin,
    )
    return Written([refined], 1)
