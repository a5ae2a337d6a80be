"""What models are asked before a run starts with them, so that a mistake leaves nothing behind."""

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.courses import Ask, begin
from mage_es.engine.models.registry import Models
from mage_es.engine.rules.routes import ROUTING_ARMS
from mage_es.engine.rules.splits import Splits
from mage_es.engine.rules.writings import writings
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.model import MAX_TOKENS, Model, Preflight, Request
from mage_es.engine.seams.plugins import plugins, verb
from mage_es.engine.session.course_choice import bare_plan, planned_course
from mage_es.projections.fold import State


def room_for_briefs(guidance: Model | None) -> int:
    """Return how many prompt tokens a guidance model has room for besides its reply, 0 if unknown."""
    context = guidance.context() if isinstance(guidance, Preflight) else 0
    return max(1, context - MAX_TOKENS) if context else 0


def asks_guidance(world: World) -> bool:
    """Return whether a run that begins in this world may ask guidance for anything."""
    return world.typing.is_induced or bool(writings(world.setting, types=len(world.setting.task_types)))


async def require_served(models: Models) -> list[str]:
    """Return what to say at the start of a run. Raises `PrerequisiteError` if a server does not know its model."""
    different = {model.name: model for model in models.by_tier().values()}
    return [
        said for model in different.values() if isinstance(model, Preflight) for said in await model.require_served()
    ]


async def require_room(world: World, model: Model, question_id: str) -> None:
    """Raise `PrerequisiteError` if a question's prompt without memories is too long for a model that can say so."""
    if isinstance(model, Preflight):
        await model.require_room(lambda: first_request(world, question_id))


def first_request(world: World, question_id: str) -> Request:
    """Return a question's first prompt, without memories."""
    setting = world.setting
    config = msgspec.structs.replace(setting.config, search="")  # nothing is looked up yet
    arm = ROUTING_ARMS["cot"]
    template = arm.step_template if is_sequential(world.benchmark) else arm.template
    plan = bare_plan(question_id, arm="cot", template=template)
    first = begin(planned_course(world._replace(setting=setting._replace(config=config)), State(), plan))
    assert isinstance(first, Ask)
    return first.request


def given_away(config: Config, benchmark: Benchmark, splits: Splits) -> tuple[str, ...]:
    """Return what gives answers away apart from the text, as the wing auditing finds it; nothing without that wing."""
    if "target_leaks" not in plugins("mage_es.verbs"):
        return ()
    found: tuple[str, ...] = verb("target_leaks")(config, benchmark, splits)
    return found
