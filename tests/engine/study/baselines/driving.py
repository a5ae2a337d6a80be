"""Driving a baseline's course by hand: scripted replies in, its calls and its end out."""

from collections.abc import Sequence

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.config import Config
from mage_es.engine.courses import Ask, Course, Finish, Look, Move, advance, begin
from mage_es.engine.rules.setting import Setting
from mage_es.engine.search.record import in_record
from mage_es.engine.study.baselines.trial import BaselineTrial
from mage_es.events.vocabulary import ModelCalled, SearchAnswered

SETTING = Setting(Config(benchmark="wordmath"), (), (), (), (), 'Finish with a line "#### <1467>".')


def attempt() -> BaselineTrial:
    """Return an attempt at the first test question of wordmath."""
    benchmark = open_benchmark("wordmath", seed=1)
    return BaselineTrial(SETTING, benchmark, benchmark.questions("test")[0])


def drive(course: Course, replies: Sequence[str], *, looped: Sequence[str] = ()) -> tuple[list[Move], Finish]:
    """Send a course one reply after another (searches are answered from its question); return its moves and its end.

    Those of `looped` were cut while they repeated themselves.
    """
    move, moves, left = begin(course), list[Move](), list(replies)
    while not isinstance(move, Finish):
        moves.append(move)
        move = advance(course, searched(move) if isinstance(move, Look) else called(move, left.pop(0), looped))
    assert not left
    return moves, move


def called(move: Move, text: str, looped: Sequence[str] = ()) -> ModelCalled:
    """Return the fact of a call."""
    assert isinstance(move, Ask)
    return ModelCalled(
        iteration=-1,
        tier="execution",
        agent=move.agent,
        purpose="exam",
        about=move.about,
        attempt=0,
        request_sha256=move.request.sha256,
        model="scripted",
        text=text,
        stop_reason="loop" if text in looped else "end",
        input_tokens=1,
        output_tokens=1,
    )


def searched(move: Look) -> SearchAnswered:
    """Return the fact of a search in the question's own paragraphs."""
    search = in_record(move.question)
    page = search.page(move.query)
    return SearchAnswered(
        iteration=-1,
        purpose="exam",
        question_id=move.question.id,
        place=move.place,
        search="record",
        wanted="page",
        query=move.query,
        titles=(page.title,) if page else tuple(search.similar(move.query, count=5)),
        texts=(page.text,) if page else (),
    )
