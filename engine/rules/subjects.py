"""Which texts are private to which subjects. A text under a subject's key is lost when that key is destroyed.

Rules
    - What is recorded about a question is under its subject's key: prompt hashes, replies, answers, tool runs,
      memories.
    - A reply of the guidance tier is under the keys of all subjects whose questions its brief shows, and so is
      everything that is written from it: a principle drawn from three customers is lost with any of them.
    - What a brief merely shows alongside (retrieved memories, earlier principles) counts only if the text repeats it: a
      text is also under each subject with which it shares a distinctive word, one that no other subject's questions
      have. Without this limit every text would soon be under every subject, because memories come from replies to
      prompts that show memories. A paraphrase without such a word goes unnoticed, and so does a name that two subjects
      share.
    - Requests are marked in pieces. A quotation is under the subjects of what it quotes. The system message is the same
      for all questions, and is under none. The rest is under the subjects of the questions that the call is about.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from mage_es.engine.commands import (
    Command,
    Evolve,
    InduceOntology,
    PlanIteration,
    RecordBatch,
    RecordCall,
    RecordFailure,
    RecordTrimming,
)
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question
from mage_es.events.digests import sha256_text
from mage_es.events.facts.private import ERASED, Private, marked_private, texts_in, under_of
from mage_es.events.vocabulary import CallFailed, Draft, EmbeddingCalled, Event, MemoryRefused, ModelCalled, Sent
from mage_es.projections.fold import State

_WORD = re.compile(r"[^\W\d_][\w'-]{2,}|\d{5,}")
"""Names and long numbers; a short number occurs in many questions by chance."""


def own_words(questions: Iterable[Question]) -> dict[str, str]:
    """Return the words that only the questions of one subject have, with that subject; none if there are no
    subjects."""
    questions = [question for question in questions if not question.subject.startswith(ERASED)]
    owners: dict[str, set[str]] = {}
    for question in questions if any(question.subject for question in questions) else ():
        for word in _words(f"{question.question} {question.context} {question.gold} {question.solution}"):
            owners.setdefault(word, set()).add(question.subject)
    return {word: owner for word, (owner, *others) in owners.items() if owner and not others}


def private(setting: Setting, state: State, command: Command, drafts: Sequence[Draft]) -> list[Draft]:
    """Return the drafts with their texts marked as private to the subjects that they come from."""
    named = frozenset(setting.subjects.get(name, "") for name in _sources(command)) - {""}

    def under(event: Event) -> frozenset[str]:
        found = named | {setting.subjects.get(getattr(event, "question_id", ""), "")}
        if isinstance(command, InduceOntology | PlanIteration | Evolve):
            replies = state.progress.guidance()
            own = [reply for reply in replies if reply.about == getattr(event, "task_type", None)]
            found |= under_of(*(own or replies))
        return found.union(*(_owners(setting, text) for text in texts_in(event))) - {""}

    def private_to(event: Event) -> Event:
        event = _keyed(event, setting.salt)
        if not isinstance(event, ModelCalled | CallFailed):
            return marked_private(event, under(event))
        bare = msgspec.structs.replace(event, sent=Sent())
        sent = msgspec.structs.replace(event.sent, texts=tuple(_pieces(setting, state, command, named)))
        return msgspec.structs.replace(marked_private(bare, under(bare)), sent=sent)

    return [msgspec.structs.replace(draft, event=private_to(draft.event)) for draft in drafts]


def _pieces(setting: Setting, state: State, command: Command, named: frozenset[str]) -> Iterator[str]:
    """Yield the pieces of a call's request, each private to the subjects that it comes from."""
    call = command.call if isinstance(command, RecordCall | RecordFailure | RecordTrimming) else None
    for piece in call.pieces.pieces if call else ():
        kind, _, name = piece.source.partition("/")
        if kind == "memory" and state.memory.count_of(name):
            row = state.memory.row(name)
            under = under_of(
                row.question, row.recognise, row.reasoning, row.answer, *(each.output for each in row.steps)
            )
        elif kind == "skill":
            said = state.slots.prompt_template(name), state.slots.strategy(name), state.graph.description(piece.source)
            under = under_of(*said)
        elif kind == "tool":
            under = under_of(state.tools.tool(name))
        # A method may say what it has learned in its system message.
        elif piece.is_system and state.progress.baseline is None:
            yield piece.text
            continue
        else:
            under = named
        # An erased text is shown as a token, and nothing can be recorded about its subject any more.
        under = frozenset(each for each in under | _owners(setting, piece.text) if not each.startswith(ERASED))
        yield Private(piece.text, under) if under and piece.text else piece.text


def _owners(setting: Setting, text: str) -> frozenset[str]:
    return frozenset(setting.own_words.get(word, "") for word in _words(text)) - {""}


def _keyed(event: Event, salt: str) -> Event:
    """Return an event with its hash of several questions' texts keyed: such a hash is never looked up in the log."""
    match event:
        case EmbeddingCalled() | CallFailed(tier="embedder"):
            return msgspec.structs.replace(event, request_sha256=sha256_text(salt + event.request_sha256))
        case MemoryRefused():
            return msgspec.structs.replace(event, question_hash=sha256_text(salt + event.question_hash)[:16])
        case _:
            return event


def _sources(command: Command) -> Iterable[str]:
    match command:
        case RecordCall() | RecordFailure() | RecordTrimming():
            return command.call.sources
        case RecordBatch():
            return [name for call in command.calls.values() for name in call.sources]
        case _:
            return ()


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
