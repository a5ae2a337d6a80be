"""What guidance writes in a run: only texts that a prompt or a choice of the same run reads.

    what it writes              what reads it
    ontology                    bandits, whose keys are skills, and chains; briefs, refined prompts and splits of skills
    exploration briefs          the Explorer's prompts
    corrections                 prompts that show how a case was reached; all, if misses do not become cases otherwise
    type strategies             prompts, as notes
    principles, tools, recipes  arms of the bandits
    refined prompts             prompts, as notes
    splits of skills            prompts, as notes of the parts; bandits. A skill of one type is never split

Rules
    - Texts that nothing reads are not requested, so no call is made for them. With `unread` the run makes the paper's
      calls anyway.
    - Later briefs of guidance do not count as readers. Neither do people, or a run that continues or serves this one.
    - A correction also carries a later date than its case. This alone is no reason to ask for one.
    - Task types are always read: by retrieval, the gate and Eq. 1. If a benchmark has none, guidance induces them.
"""

from mage_es.engine.config import Config
from mage_es.engine.rules.rotation import (
    AUTHOR_RECIPES,
    AUTHOR_TOOLS,
    EXTRACT_PRINCIPLES,
    REFINE_PROMPTS,
    SPLIT_SKILLS,
    SWITCHED_OFF,
    WRITE_FAILURES,
)
from mage_es.engine.rules.setting import Setting

ONTOLOGY = "ontology"
BRIEFS = "exploration_briefs"
CORRECTIONS, STRATEGIES = "specific", "type_strategy"
"""The kinds of failure memories that guidance writes."""


def writings(setting: Setting, *, types: int) -> frozenset[str]:
    """Return what guidance is asked for in a run with this many task types: actions of EVOLVE, and the names above."""
    config, is_all = setting.config, setting.config.unread
    explores = setting.has_episodes and config.explore_episodes > 0
    # Turns and lines that ask for the answer alone show cases so, too.
    shows_it = config.form in ("sections", "worked")
    is_worked = config.bandits or setting.has_episodes or shows_it or setting.route == "cot"
    is_kept = config.cases and config.teacher_sees != "errors"
    corrects = config.failure_memories and (is_all or is_worked or not is_kept)
    strategies = config.failure_memories and config.strategies
    chosen = is_all or config.bandits
    splits = config.skill_splitting and types > 1
    wanted = {
        ONTOLOGY: chosen or explores or config.prompt_refinement or splits,
        BRIEFS: is_all or explores,
        WRITE_FAILURES: corrects or strategies,
        CORRECTIONS: corrects,
        STRATEGIES: strategies,
        EXTRACT_PRINCIPLES: chosen and config.principles,
        AUTHOR_TOOLS: chosen and config.tools,
        AUTHOR_RECIPES: chosen and config.retrieval_recipes,
        REFINE_PROMPTS: config.prompt_refinement,
        SPLIT_SKILLS: splits,
    }
    return frozenset(name for name, is_wanted in wanted.items() if is_wanted)


def why_unwritten(config: Config, action: str) -> str:
    """Return why guidance is not asked for an action of EVOLVE, which events record as switched off in any case."""
    is_on, why = {
        WRITE_FAILURES: (config.failure_memories, "not needed: each miss is kept as a case"),
        EXTRACT_PRINCIPLES: (config.principles, "not used without --bandits"),
        AUTHOR_TOOLS: (config.tools, "not used without --bandits"),
        AUTHOR_RECIPES: (config.retrieval_recipes, "not used without --bandits"),
        REFINE_PROMPTS: (config.prompt_refinement, ""),
        SPLIT_SKILLS: (config.skill_splitting, "not needed: there is one task type"),
    }[action]
    return why if is_on else SWITCHED_OFF
