"""What happened when a question was asked, step by step: calls with their exact prompts, tools, searches, actions."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from mage_es.engine.askings.requests import Requests
from mage_es.engine.courses import Act, Ask, Course, Fact, Finish, Grade, Look, Move, Use, advance, begin
from mage_es.engine.run.world import World
from mage_es.engine.seams.model import Request
from mage_es.engine.session.course_choice import planned_course
from mage_es.engine.session.judge import judged
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State

ENDS = (v.AnswerJudged, v.AnswerUnanswered, v.AnswerUndecided)
"""The facts with which an asking ends."""
ABOUT: Mapping[type[v.Event], str] = {
    **dict.fromkeys((v.ModelCalled, v.CallFailed), "about"),
    **dict.fromkeys((v.EpisodeStepped, v.EpisodeClosed), "episode_id"),
    **dict.fromkeys((v.BundleTrimmed, v.ToolRan, v.SearchAnswered, *ENDS), "question_id"),
}
"""The facts of a question after its plan, and the field that names it; a call may be about a part, `question/part`."""


class Quotation(msgspec.Struct, frozen=True, kw_only=True):
    """A span of a prompt, characters [offset, offset + length) of the user's message, and the source that it quotes."""

    offset: int
    length: int
    source: str


class CallReport(msgspec.Struct, frozen=True, kw_only=True, tag="call"):
    """One call, with the request as sent. `verified`: it has the recorded hash. `turns` are where another message
    begins in the prompt, as in a `Request`. `served_by` is the model that the provider named, if it is not the
    requested one."""

    about: str
    tier: str
    agent: str
    system: str
    prompt: str
    verified: bool
    sources: tuple[Quotation, ...]
    reply: str
    served_by: str = ""
    turns: tuple[int, ...] = ()


class TrimReport(msgspec.Struct, frozen=True, kw_only=True, tag="trimmed"):
    """A prompt that did not fit the model's context, and the memory that was dropped from it."""

    about: str
    memory_id: str
    problem: str
    verified: bool


class ToolReport(msgspec.Struct, frozen=True, kw_only=True, tag="tool"):
    tool_id: str
    name: str
    arguments: str
    result: str
    problem: str


class SearchReport(msgspec.Struct, frozen=True, kw_only=True, tag="search"):
    """One search: the query and the titles it found. `is_there` says whether the pages came with them, and `problem`
    why not."""

    search: str
    query: str
    titles: tuple[str, ...]
    is_there: bool
    problem: str = ""


class StepReport(msgspec.Struct, frozen=True, kw_only=True, tag="step"):
    step: int
    action: str
    observation: str


MoveReport = CallReport | TrimReport | ToolReport | SearchReport | StepReport


def course_taken(world: World, state: State, planned: v.QuestionPlanned, facts: Sequence[v.Event]) -> Course:
    """Return the course that a question took, with its judge, if one was asked and the right answers are here: without
    them a judge's prompt cannot be rebuilt."""
    course = planned_course(world, state, planned)
    if world.has_gold and any(isinstance(fact, v.ModelCalled) and fact.tier == "judge" for fact in facts):
        question, templates = world.questions[planned.question_id], world.setting.templates
        return judged(course, question, benchmark=world.benchmark, has_judge=True, templates=templates)
    return course


def walk(course: Course, state: State, facts: Sequence[v.Event], requests: Requests) -> list[MoveReport]:
    """Replay a course on recorded facts and return its moves, as far as they are recorded."""
    # A failed attempt at a longer reply is not a move: the reply before it was the last.
    walked = list(replayed(course, facts))
    found = [report_of(move, state, fact, requests) for move, fact in walked if not isinstance(fact, v.CallFailed)]
    taken = {id(fact) for _, fact in walked}
    # This program would not have made this call, but it was made all the same.
    others = [fact for fact in facts if isinstance(fact, v.ModelCalled) and id(fact) not in taken]
    return [*found, *(call_report(fact, requests.request(fact.sent)) for fact in others)]


def replayed(course: Course, facts: Sequence[v.Event]) -> Iterator[tuple[Move, v.Event | None]]:
    """Yield the moves of a course, each with its fact, as far as they are recorded; the first move without a fact is
    the last.

    A call is matched by tier, subject and attempt rather than by its prompt, which may render differently now.
    """
    move, left = begin(course), list(facts)
    while not isinstance(move, Finish):
        fact = next((fact for fact in left if _matches(fact, move)), None)
        yield move, fact
        if fact is None:
            break
        left.remove(fact)
        assert isinstance(fact, Fact)
        move = advance(course, fact)


def call_report(called: v.ModelCalled, request: Request | None, spans: Sequence[v.Span] = ()) -> CallReport:
    """Return a recorded call; `request` is None if what was sent is not on record."""
    sent = request or Request(prompt="")
    is_same = sent.sha256 == called.request_sha256
    return msgspec.structs.replace(
        _asked(called, sent, spans), verified=is_same, reply=called.text, served_by=called.served_by
    )


def _asked(call: Ask | v.ModelCalled, sent: Request, spans: Sequence[v.Span]) -> CallReport:
    return CallReport(
        about=call.about,
        tier=call.tier,
        agent=call.agent,
        system=sent.system,
        prompt=sent.prompt,
        verified=True,
        sources=tuple(Quotation(offset=span.offset, length=span.length, source=span.source) for span in spans),
        reply="",
        turns=sent.turns,
    )


def found_again(spans: Sequence[v.Span], rendered: str, sent: str) -> list[v.Span]:
    """Return where the quotations of a prompt as it renders now are in the one that was sent; missing ones are left
    out."""
    if rendered == sent:
        return [*spans]
    found, at = list[v.Span](), 0
    for span in spans:
        place = sent.find(rendered[span.offset : span.offset + span.length], at)
        if place >= 0:
            found.append(msgspec.structs.replace(span, offset=place))
            at = place + span.length
    return found


def report_of(move: Move, state: State, fact: v.Event | None, requests: Requests | None = None) -> MoveReport:
    """Return a move with its outcome; its prompt is the one on record or, without `requests` or a fact, the current
    one."""
    match move:
        case Ask() if isinstance(fact, v.BundleTrimmed):
            return TrimReport(
                about=move.about,
                memory_id=fact.memory_id,
                problem=fact.problem,
                # Its request is with the failed call, which is not a move.
                verified=requests is None or requests.was_refused(fact.request_sha256),
            )
        case Ask() if isinstance(fact, v.ModelCalled):
            request = requests.request(fact.sent) if requests else move.request
            spans = found_again(move.spans, move.request.prompt, request.prompt) if request else ()
            return call_report(fact, request, spans)
        case Ask():
            return _asked(move, move.request, move.spans)
        case Use():
            ran = fact if isinstance(fact, v.ToolRan) else None
            return ToolReport(
                tool_id=move.tool_id,
                name=state.tools.tool(move.tool_id).name,
                arguments=move.arguments,
                result=ran.result if ran else "",
                problem=ran.problem if ran else "",
            )
        case Look():
            answered = fact if isinstance(fact, v.SearchAnswered) else None
            return SearchReport(
                search=answered.search if answered else "",
                query=move.query,
                titles=answered.titles if answered else (),
                is_there=bool(answered and answered.texts),
                problem=answered.problem if answered else "",
            )
        case Act(acted):
            if isinstance(acted, v.EpisodeStepped):
                return StepReport(step=acted.step, action=acted.action, observation=acted.observation)
            return StepReport(step=acted.steps, action="", observation="The episode ends.")
        case Grade():
            raise TypeError("scoring leaves no fact to report")


def _matches(fact: v.Event, move: Move) -> bool:
    match move, fact:
        case Ask(), v.CallFailed():
            return move.is_spare and fact.final and (fact.about, fact.attempt) == (move.about, move.attempt)
        case Ask(), v.ModelCalled():
            return (fact.tier, fact.about, fact.attempt) == (move.tier, move.about, move.attempt)
        case Ask(), v.BundleTrimmed():
            return fact.about == move.about and move.droppable[:1] == (fact.memory_id,)
        case Use(), v.ToolRan():
            return (fact.tool_id, fact.arguments) == (move.tool_id, move.arguments)
        case Look(), v.SearchAnswered():
            return fact.place == move.place
        case Act(v.EpisodeStepped() as stepped), v.EpisodeStepped():
            return fact.step == stepped.step
        case Act(v.EpisodeClosed()), v.EpisodeClosed():
            return True
        case _:
            return False
