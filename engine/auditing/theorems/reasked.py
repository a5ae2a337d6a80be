"""What was asked again: its log is intact, belongs to this run, and asks what the run had asked without some memories,
or a question of the run on the state of a closed iteration, with only memories that this state has.

The run's own log says that an asking begins, and names its head afterwards, so nothing of that can be removed unseen,
and the recorded results follow from its content: the pairs of memories are counted again, and where an answer flips,
both answers are there, and their prompts differ in the named memory. `theorems/requests.py` checks the request of each
of its calls, and `theorems/verdicts.py` scores its answers again, and counts those that were judged again.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import NamedTuple

from mage_es.engine.askings.reasking import place_of
from mage_es.engine.auditing.theorems.log import problems_of
from mage_es.engine.run.directory import Run
from mage_es.engine.seams.check import Check
from mage_es.engine.worth.effect import WANTED, Prompted, PromptKey, asked_without, askings, reasked
from mage_es.events import vocabulary as v
from mage_es.events.care import verify_log
from mage_es.events.errors import LogError, counted
from mage_es.events.facts.private import is_erased
from mage_es.events.log import LogReader
from mage_es.projections.fold import State, fold

NAME = "asked again"
BOUND = "all are the run's, or of its states, less some memories"
_UNNAMED = (
    "Either the asking was killed, or another process was writing the run, and the next `effect` or `bisect` records "
    "them; or an event of the run was removed."
)


def check_reasked(run: Run, reader: LogReader) -> Iterator[Check]:
    """Yield the check of what `effect`, `what-if`, `bisect` and `mage_es.gepa` asked again, if they asked anything."""
    named = list(reader.numbered(v.QuestionsReasked))
    if run.reasked not in run.parts():
        if named:
            detail = f"{run.reasked.log_path} is missing, with {named[-1][1].head_seq} events: restore it from a backup"
            yield Check(name=NAME, ok=False, detail=detail, bound=BOUND, seq=named[-1][0], damaged=True)
        elif gone := _gone(run, reader, 0):
            yield Check(name=NAME, ok=True, detail=gone, measured="0 events", bound=BOUND, doubt=True)
        return
    verdict = verify_log(run.reasked.log_path, head=named[-1][1].head_chain if named else None)
    if problems := problems_of(verdict):
        detail = f"{problems}. Restore {run.reasked.path} from a backup"
        yield Check(name=NAME, ok=False, detail=detail, bound=BOUND, damaged=True)
        return
    own = LogReader(run.reasked.log_path)
    found = askings(reader.records({v.QuestionPlanned, v.BundleTrimmed, v.AnswerJudged}))
    problem, seq = _problem(reader, own, found)
    head = verdict.search.found if verdict.search else None
    if not problem and named and (head is None or head.seq != named[-1][1].head_seq):
        problem = f"it never had the head that event {named[-1][0]} of the run names"
    problem = problem or _unfounded(own, found, named)
    # What a repair cut was still asked, but pairs with it no longer count anywhere.
    is_cut = bool(problem) and next(reader.of(v.LogRepaired), None) is not None
    unnamed = own.head.seq - max((event.head_seq for _, event in named), default=0)
    plans, calls = list(own.of(v.QuestionPlanned)), sum(1 for _ in own.of(v.ModelCalled))
    on_states = sum(_is_on_state(each) for each in plans)
    results = sum(len(event.without) + len(event.flips) + len(event.judged) for _, event in named)
    gone = _gone(run, reader, own.head.seq)
    detail = problem or ", ".join(
        (
            f"{len(plans) - on_states} prompts of the run without some of their memories",
            *([f"{on_states} on states of its iterations"] if on_states else []),
            counted(calls, "call"),
            f"{counted(results, 'result')} {'follows' if results == 1 else 'follow'} from it",
            *([f"{unnamed} of its events are not on the run's record. {_UNNAMED}"] if unnamed > 0 else []),
            *([gone] if gone else []),
        )
    )
    measured = f"{verdict.head.seq} events, the head is {verdict.head.chain[:16]}"
    yield Check(
        name=NAME,
        ok=is_cut or not problem,
        detail=detail,
        measured=measured,
        bound=BOUND,
        seq=seq,
        doubt=is_cut or ((unnamed > 0 or gone != "") and not problem),
    )


def _gone(run: Run, reader: LogReader, last: int) -> str:
    """Return which asking began and left nothing in the log of what was asked, whose `last` event is given; or ""."""
    begun = list(reader.numbered(v.ReaskingBegun))
    heads = [(seq, event.head_seq) for seq, event in begun]
    heads = sorted(heads + [(seq, event.head_seq) for seq, event in reader.numbered(v.QuestionsReasked)])
    for seq, event in begun:
        if next((head for later, head in heads if later > seq), last) <= event.head_seq:
            return (
                f"event {seq} of the run says that `{event.verb}` begins to ask, and nothing that it asked is there. "
                f"Either it was killed at that moment, or that was removed: restore {run.reasked.path} from a backup."
            )
    return ""


class AskedTogether(NamedTuple):
    """What was asked again together, on the state after event `seq` of the run; `may_reword` if with another
    instruction."""

    seq: int
    records: Sequence[v.Record]
    may_reword: bool


def asked_together(run: Run, reader: LogReader) -> Iterator[AskedTogether]:
    """Yield everything that was asked again, except what `check_reasked` finds not to be a question of the run."""
    if run.reasked not in run.parts():
        return
    named = [event for _, event in reader.numbered(v.QuestionsReasked)]
    asked = {
        each.key: each.seq for each in askings(reader.records({v.QuestionPlanned, v.BundleTrimmed, v.AnswerJudged}))
    }
    ends, together = _ends(reader), defaultdict[tuple[int, str, int], list[v.Record]](list)
    with suppress(LogError):  # `check_reasked` says what is wrong with it
        for record in LogReader(run.reasked.log_path).records():
            together[record.iteration, record.phase, place_of(record)].append(record)
    for records in together.values():
        plans = [(each.seq, each.event) for each in records if isinstance(each.event, v.QuestionPlanned)]
        seqs = [ends.get(plan.iteration) if _is_on_state(plan) else asked.get(_key(plan)) for _, plan in plans]
        known = [seq for seq in seqs if seq]
        if known and len(known) == len(seqs):
            verb = next((event.verb for event in named if plans[0][0] <= event.head_seq), "gepa")
            yield AskedTogether(max(known), records, may_reword=verb == "gepa" and _is_on_state(plans[0][1]))


def _key(event: v.QuestionPlanned | v.AnswerJudged | v.AnswerUndecided) -> PromptKey:
    return event.iteration, event.purpose, event.question_id


def _ends(reader: LogReader) -> dict[int, int]:
    """Return the event that ended each iteration."""
    return {marker.number: seq for marker, seq in reader.markers().items() if marker.kind == "iteration"}


def _unfounded(own: LogReader, found: Sequence[Prompted], named: Sequence[tuple[int, v.QuestionsReasked]]) -> str:
    """Return what the run says about the questions asked again that does not follow from their log, or ""."""
    before = 0
    for seq, event in named:
        claim = f"event {seq} of the run, of `{event.verb}`, says"
        made = sum(1 for _ in own.events({v.ModelCalled: ("iteration",)}, since=before + 1, until=event.head_seq))
        if made != event.calls:
            return f"{claim} {counted(event.calls, 'call')}, and {made} are there"
        before = event.head_seq
        if event.without and event.verb not in WANTED:
            return f"{claim} what memories are worth, which it does not ask"
        records = own.records({v.QuestionPlanned, v.AnswerJudged, v.AnswerUndecided}, until=event.head_seq)
        answers = reasked(records, found) if event.without else {}
        until = [asking for asking in found if asking.judged < seq]
        for each in event.without:
            if (there := asked_without(event.verb, until, frozenset(each.memories), answers)) != each:
                return f"{claim} {_in_words(each)} of {len(each.memories)} memories, and there are {_in_words(there)}"
        for flip in event.flips:
            if not _is_flip(own, flip, until=event.head_seq):
                return (
                    f"{claim} that {flip.question_id} flips from {flip.before} to {flip.after}, and no two answers do"
                )
    return ""


def _in_words(found: v.AskedWithout) -> str:
    return f"{found.won} won, {found.lost} lost of {found.pairs}"


def _is_flip(own: LogReader, flip: v.AnswerFlipped, *, until: int) -> bool:
    """Return whether two answers differ, and their prompts differ in the named memory, if one is named. A prompt whose
    hash was erased may be the one before the flip or the one after it."""
    shown = dict[tuple[int, int], tuple[str, frozenset[str]]]()
    before, after = set[tuple[frozenset[str], bool]](), set[tuple[frozenset[str], bool]]()
    for record in own.records({v.QuestionPlanned, v.AnswerJudged}, until=until):
        event = record.event
        assert isinstance(event, v.QuestionPlanned | v.AnswerJudged)
        if event.question_id != flip.question_id:
            continue
        if isinstance(event, v.QuestionPlanned):
            shown[event.iteration, record.ordinal] = event.prompt_sha256, frozenset(_memories(event))
        elif plan := shown.get((event.iteration, record.ordinal)):
            for prompt, answers in ((flip.prompt_before, before), (flip.prompt_after, after)):
                if plan[0] == prompt or is_erased(plan[0]):
                    answers.add((plan[1], event.correct))
    named = {flip.memory_id} if flip.memory_id else None
    return any(
        was != now and (named is None or one ^ other == named) for (one, was), (other, now) in product(before, after)
    )


def _problem(reader: LogReader, own: LogReader, found: Sequence[Prompted]) -> tuple[str, int]:
    """Return what in the log does not belong to this run, and the event; ("", 0) if nothing."""
    if own.run != f"{reader.run}/reasked":
        return f"it is the log {own.run}, not {reader.run}/reasked", 1
    shown = {asking.key: asking.shown for asking in found}
    planned = set[tuple[PromptKey, int]]()
    on_states = list[tuple[int, v.QuestionPlanned]]()
    for record in own.records({v.QuestionPlanned, v.AnswerJudged, v.AnswerUndecided}):
        event = record.event
        assert isinstance(event, v.QuestionPlanned | v.AnswerJudged | v.AnswerUndecided)
        key = _key(event)
        if not isinstance(event, v.QuestionPlanned):
            if (key, record.ordinal) not in planned:
                return f"the answer to {event.question_id} has no prompt before it", record.seq
            continue
        planned.add((key, record.ordinal))
        if _is_on_state(event):
            on_states.append((record.seq, event))
        elif key not in shown:
            return f"the run's log has no answer to {event.question_id} in iteration {event.iteration}", record.seq
        elif not _memories(event) < shown[key]:
            return f"the prompt of {event.question_id} shows what the run's did not, or all of it", record.seq
    return _unlearned(reader, on_states)


def _is_on_state(planned: v.QuestionPlanned) -> bool:
    """Return whether `bisect` or `mage_es.gepa` asked this: a run's own prompts have other purposes."""
    return planned.purpose == "exam"


def _memories(planned: v.QuestionPlanned) -> set[str]:
    return {*planned.principles, *(hit.memory_id for hit in planned.memories)}


def _unlearned(reader: LogReader, plans: Sequence[tuple[int, v.QuestionPlanned]]) -> tuple[str, int]:
    """Return what was asked on a state that the run never had, or with a memory that this state lacks, and the event;
    ("", 0) if nothing."""
    if not plans:
        return "", 0
    ends = _ends(reader)
    questions, state = {each.id for each in reader.questions()[0]}, State()
    for seq, planned in sorted(plans, key=lambda plan: (plan[1].iteration, plan[0])):
        if planned.iteration not in ends:
            return f"{planned.question_id} was asked on iteration {planned.iteration}, which never ended", seq
        if planned.question_id not in questions:
            return f"{planned.question_id} is no question of the run", seq
        state = fold(reader, until=ends[planned.iteration], state=state)
        if unknown := _memories(planned) - {row.memory_id for row in state.memory.rows()}:
            named = f"the prompt of {planned.question_id} shows {min(unknown)[:12]}"
            return f"{named}, which iteration {planned.iteration} had not learned", seq
    return "", 0
