"""Prompt refinement as an event: new values of a skill's prompt template and strategy, the old ones beside them."""

from mage_es.engine.briefs import RefinementReply
from mage_es.engine.rules.harvest import capped
from mage_es.engine.rules.rotation import Turn, Written
from mage_es.events.vocabulary import SkillRefined

SLOT_LENGTH = 1200
"""Most characters of each of the two slots, cut at a line border: every prompt of the skill carries them."""


def refine(turn: Turn, reply: RefinementReply) -> Written:
    """Return the refinement; an empty slot of the reply leaves the skill's own, and no change is no event.

    [section 3.3, prompt refinement] The event holds both slots before and after.
    """
    slots, skill = turn.state.slots, turn.skill
    template_before, strategy_before = slots.prompt_template(skill), slots.strategy(skill)
    # An empty slot in a reply means "keep it": no model is asked to repeat what is good.
    template = capped(reply.prompt_template.strip(), SLOT_LENGTH) or template_before
    strategy = capped(reply.strategy.strip(), SLOT_LENGTH) or strategy_before
    if (template, strategy) == (template_before, strategy_before):
        return Written()
    # With the values before: a log can be read backwards without folding it.
    refined = SkillRefined(
        iteration=turn.iteration,
        skill=skill,
        prompt_template=template,
        strategy=strategy,
        prompt_template_before=template_before,
        strategy_before=strategy_before,
        origin=turn.origin,
    )
    return Written([refined], 1)
