"""A course: the way to one answer, in one call or many. It is a generator that yields moves and receives facts.

A course yields moves (ask the model, run a tool, look something up) and is sent the fact that each one left in the log.
Everything that it does follows from those facts, so the same log leads it down the same path again. A resumed run sends
the recorded facts and continues from there, and `show` walks through a course without any model.

Rules
    - A course reads only those parts of a fact that are the same in every run (not its latency, for example).
    - The fact of a move is durable before the next move is made (for an episode's step, before the one after that).
      Scoring leaves no fact.
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.seams.model import Request, reason_of, request_after
from mage_es.events import vocabulary as v


class Ask(NamedTuple):
    """Call a model. `about` is the question's id for the last call of a course, and `q17/1`, `q17/2`... for earlier
    ones; `spans` are the places of retrieved texts in the prompt. An empty `purpose` means the plan's. `typed` is the
    form that the reply must have; any other is recorded as rejected, but still sent to the course, which asks again as
    the next `attempt`. `droppable` are the ids of what can be dropped from the prompt, in that order: if it does not
    fit the model's context, the course is sent what to leave out. If a move `is_spare`, the course continues without
    its reply: it is sent the failure."""

    about: str
    request: Request
    spans: tuple[v.Span, ...] = ()
    agent: str = "Learner"
    tier: v.Tier = "execution"
    purpose: str = ""
    attempt: int = 0
    typed: type[Any] | None = None
    droppable: tuple[str, ...] = ()
    is_spare: bool = False


class Use(NamedTuple):
    """Run a dynamic tool on a JSON object of arguments. Problems while it runs are part of the fact."""

    tool_id: str
    arguments: str


class Look(NamedTuple):
    """Look something up for a question, for the `place`-th time: a page by its title, or its best `passages`."""

    question: Question
    query: str
    place: int
    passages: int = 0


class Act(NamedTuple):
    """Record what an action of an episode led to, or the episode's end. The course has simulated the environment
    itself.
    """

    fact: v.EpisodeStepped | v.EpisodeClosed


class Grade(NamedTuple):
    """Have the benchmark's rule score a reply, which may take time. The course is sent the verdict, which is not a
    fact: a resumed run scores the recorded reply again."""

    question: Question
    reply: str


class Finish(NamedTuple):
    """The end of a course: the text that the Critic scores, and the verdict once it is given. `lost` says why there is
    neither, if a call failed permanently; `reason` says what the reply lacks (`reason_of`).
    """

    reply: str
    verdict: Verdict | None = None
    lost: str = ""
    reason: str = ""


Move = Ask | Use | Look | Act | Grade
Fact = (
    v.ModelCalled | v.CallFailed | v.BundleTrimmed | v.ToolRan | v.SearchAnswered | v.EpisodeStepped | v.EpisodeClosed
)
FactT = TypeVar("FactT", bound=Fact)
Course = Generator[Move, Any, Finish]


def call_of(question_id: str, place: int) -> str:
    """Return what a call is about: `q17/1`, `q17/2` and so on for the calls before a question's last, which is
    `q17`."""
    return f"{question_id}/{place}" if place else question_id


def reply_to(move: Ask, *, most: int) -> Generator[Move, Fact, v.ModelCalled | v.BundleTrimmed]:
    """Ask, and ask once more if the reply was truncated (now with `most` tokens) or empty; return the last reply. If
    the prompt does not fit, return a trimming instead."""
    fact = yield move
    if isinstance(fact, v.ModelCalled) and (request := request_after(move.request, fact, most=most)):
        # The prompt fitted before: nothing is left out to make room for a longer reply.
        again = yield move._replace(request=request, attempt=move.attempt + 1, droppable=(), is_spare=True)
        fact = again if isinstance(again, v.ModelCalled) else fact
    assert isinstance(fact, v.ModelCalled | v.BundleTrimmed)
    return fact


def finish_of(called: v.ModelCalled) -> Finish:
    return Finish(called.text, reason=reason_of(called))


def fact_of(move: Move, kind: type[FactT]) -> Generator[Move, Fact, FactT]:
    fact = yield move
    assert isinstance(fact, kind)
    return fact


def score_of(question: Question, reply: str) -> Generator[Grade, Any, Verdict]:
    verdict = yield Grade(question, reply)
    assert isinstance(verdict, Verdict)
    return verdict


def begin(course: Course) -> Move | Finish:
    return advance(course, None)


def advance(course: Course, fact: Fact | Verdict | None) -> Move | Finish:
    """Send a course the fact of its last move, or the verdict, and return its next move; None begins a course."""
    try:
        return course.send(fact)
    except StopIteration as end:
        assert isinstance(end.value, Finish)
        return end.value


def catch_up(course: Course, move: Move | Finish, recorded: Callable[[Move], Fact | None]) -> Move | Finish:
    """Replay the recorded facts into a course that is at `move`; return the first move without one."""
    while not isinstance(move, Finish) and (fact := recorded(move)) is not None:
        move = advance(course, fact)
    return move
