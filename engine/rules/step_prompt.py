"""The prompt of one step of an episode: what the graph knows at this moment, then task, episode so far, observation.

Rules
    - The graph is consulted at every step: for the bundle, action recipes, plan and principles chosen for this step,
      for the patterns of the task type, and for the relations that lead on from what is in sight or wanted.
    - The arm `none` shows none of this. In the shuffled control all of it belongs to another task.
    - Observations and effects are the environment's words, so they are quoted, like everything that is retrieved.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.rules.ingredients import sections_of
from mage_es.engine.rules.prompt import Prompt, PromptQuestion, Quote, Section, quoted, render_answer
from mage_es.engine.rules.routes import ROUTING_ARMS
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.environment import Moment
from mage_es.events.vocabulary import QuestionPlanned
from mage_es.projections.fold import State

EXPLORING = "explore"  # the template of the Explorer's steps
STEP_TEMPLATES = frozenset({EXPLORING, *(arm.step_template for arm in ROUTING_ARMS.values())})
"""What distinguishes the plan of an episode from that of a question."""
_BARE = frozenset({EXPLORING, "act_direct"})
"""Templates that already say how to work: a skill's instruction is omitted."""
PATTERNS = 16
RELATIONS = 24  # most relations in a prompt, the nearest first


class Consulted(NamedTuple):
    """What the graph is asked about: a task type, and entities by their names. In a control, both belong to another
    task."""

    task_type: str
    entities: Sequence[str]


def retrieval_text(question: str, observation: str) -> str:
    return f"{question}\n{observation}"


def step_prompt(
    setting: Setting,
    state: State,
    planned: QuestionPlanned,
    question: Question,
    moment: Moment,
    *,
    about: Consulted,
    solved: Sequence[Quote] = (),
) -> Prompt:
    """Return the prompt of a step. `planned.memories` must be the bundle of this step; `solved` are a method's
    cases."""
    sections = [
        Section("Solved earlier", solved, is_note=True),
        *sections_of(state, planned, answers_only=planned.template in _BARE),
    ]
    # The arm `none` is the control of the search bandit: with anything from the graph in it, it would measure nothing.
    # The bare prompt has that arm too.
    if planned.search_arm != "none":
        sections.append(Section("Patterns", _patterns(state, about.task_type), is_note=True))
        sections.append(Section("World", _relations(state, about.entities), is_note=True))
    if planned.template == EXPLORING:
        sections.append(Section("Brief", _brief(state), is_note=True))
    is_shared = setting.traits.context_role == "instruction"
    asked = PromptQuestion(
        _as_question(question, moment, setting.config.episode_history),
        "" if is_shared else question.context,
        setting.answer_format,
        shared=question.context if is_shared else "",
        heading="Task",
    )
    return render_answer(planned.template, sections, asked, templates=setting.templates)


def _as_question(question: Question, moment: Moment, history: int) -> str:
    # Only the last steps, but with their numbers in the episode, so that the model sees that there were others.
    first = max(0, len(moment.lines) - history)
    lines = [f"{number}. {line}" for number, line in enumerate(moment.lines[first:], start=first + 1)]
    parts = [
        question.question,
        *([f"## Episode so far\n\n{quoted(chr(10).join(lines))}"] if lines else []),
        f"## Observation\n\n{quoted(moment.observation)}",
        # One line per action: one with a line break in it could pass for two.
        "## Valid actions\n\n" + "\n".join(f"- {' '.join(action.splitlines())}" for action in moment.actions),
    ]
    return "\n\n".join(parts)


def _patterns(state: State, task_type: str) -> list[Quote]:
    return [Quote(f"memory/{row.memory_id}", row.text) for row in state.patterns.of(task_type)[:PATTERNS]]


def _relations(state: State, entities: Sequence[str]) -> list[Quote]:
    # What is in sight first, then what that leads to: the nearest relations are the useful ones, and the rest is cut.
    waiting = deque(dict.fromkeys(entities))
    seen = set(waiting)
    found: list[Quote] = []
    while waiting:
        name = waiting.popleft()
        for label, node in state.graph.related(f"entity/{name}"):
            other = node.removeprefix("entity/")
            found.append(Quote(f"entity/{name}", f"{name} {label} {other}."))
            if len(found) == RELATIONS:
                return found
            # Worlds have cycles (a leads to b, b back to a); each entity is visited once.
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return found


def _brief(state: State) -> list[Quote]:
    plan = state.progress.iteration_plan
    return [Quote(f"iteration/{plan.iteration}", plan.brief)] if plan and plan.brief else []
