"""Feedback: what a client says about an inference or a session, and the memory that a demonstration proposes.

Rules
    - A key speaks only about its own inferences (serving/live.py sees to that). So its weight is its share of the
      traffic: with feedback on others' it could sway the bandits for everyone.
    - Feedback repeated under the same idempotency key counts once; a different body is a conflict. A correction is new
      feedback: for the same subject, metric and key the latest score counts, and the latest demonstration, in the log's
      order.
    - Bools and numbers move bandits, texts have no effect, a demonstration proposes a memory. Nothing is learned before
      it is published (rules/publishing.py).
    - What a key demonstrates whose answers are gold approves a memory that waits for a review if it says the same to
      the letter: its question may hold characters that no one sees, and its wrong answer is no part of its id.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from mage_es.engine.rules.doubt import doubted
from mage_es.engine.rules.new_memories import capped, memory_id, reasoning_of
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.embedder import Vector, to_bytes
from mage_es.events.errors import Conflict, NotFound, UsageError
from mage_es.events.vocabulary import (
    MICRO,
    Draft,
    FeedbackGiven,
    MemoryProposed,
    MemoryRefused,
    Origin,
    ProposalReviewed,
    Trust,
)
from mage_es.projections.fold import State

MOST_NAME, MOST_TEXT, MOST_ANSWER = 128, 32_000, 4_000
"""Most characters of a metric or an id, of a text, and of an answer or a question in a demonstration."""
_PARTS = ("answer", "question", "reasoning", "wrong_answer")


class Feedback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client says about an inference or a session, in the fields that it sends. `value` is a bool, a number in
    [0, 1], a text, or a demonstration: an object with `answer` and perhaps `reasoning`, `wrong_answer` and `question`;
    a text is taken as a demonstration if `kind` says so."""

    metric: str
    value: Any
    idempotency_key: str
    inference_id: str = ""
    session_id: str = ""
    kind: Literal["", "demonstration"] = ""


class GiveFeedback(NamedTuple):
    """Record feedback. `session`, which belongs to the key, is that of the inference in question, if any. `question` is
    the text of its user turn, "" if unknown; `vector` is the question's, `task_type` its type, and `extracted` the
    answer in a demonstration that is a reply. `earlier` is what is on record under the same key and idempotency key."""

    said: Feedback
    key: str
    trust: Trust
    session: str
    question: str = ""
    vector: Vector | None = None
    task_type: str = ""
    extracted: str = ""
    earlier: FeedbackGiven | None = None


def feedback_id(key: str, idempotency_key: str) -> str:
    return hashlib.sha256(f"{key}\0{idempotency_key}".encode()).hexdigest()[:32]


def draft_of(event: FeedbackGiven) -> Draft:
    # Without an iteration, so that it is still the same fact if it is repeated after a publish.
    return Draft(event=event, iteration=-1, phase="serve")


def feedback_event(said: Feedback, *, key: str, session: str) -> FeedbackGiven:
    """Return feedback to record, which is not yet trusted; `session` is the inference's, or the one named. Raises
    `UsageError` for an invalid value, or a text that is too long or not valid Unicode."""
    names = {"metric": said.metric, "idempotency_key": said.idempotency_key}
    about = {"inference_id": said.inference_id, "session_id": said.session_id}
    if bool(said.inference_id) == bool(said.session_id):
        raise UsageError("Feedback is about one thing: give inference_id or session_id.")
    for name, text in (*names.items(), *about.items()):
        _require_text(name, text, MOST_NAME)
    if missing := [name for name, text in names.items() if not text.strip()]:
        raise UsageError(f"{missing[0]} is empty: give a text of at most {MOST_NAME} characters.")
    kind, micro, text = _value(said)
    if kind == "demonstration" and not said.inference_id:
        raise UsageError("A demonstration is about one inference: give inference_id.")
    return FeedbackGiven(
        feedback=feedback_id(key, said.idempotency_key),
        inference=said.inference_id,
        session=session,
        metric=said.metric,
        kind=kind,
        value_micro=micro,
        text=text,
        key=key,
    )


def _value(said: Feedback) -> tuple[Any, int, str]:
    match said.value:
        case bool() if not said.kind:
            return "bool", MICRO * said.value, ""
        case int() | float() if not said.kind and not isinstance(said.value, bool):
            if not 0 <= said.value <= 1:  # NaN is neither
                shown = repr(said.value) if -MICRO < said.value < MICRO else "far off"
                raise UsageError(f"value is {shown}: give a number between 0 and 1.")
            return "float", round(said.value * MICRO), ""
        case str() if not said.kind:
            _require_text("value", said.value, MOST_TEXT)
            return "text", 0, said.value
        case str():
            return "demonstration", 0, _demonstration({"answer": said.value}, longest=MOST_TEXT)
        case dict():
            return "demonstration", 0, _demonstration(said.value)
    raise UsageError(
        f"value is {_as_json(said.value)}: give true or false, a number between 0 and 1, a text, or a demonstration: "
        'an object with "answer".'
    )


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()[:80]


def _demonstration(value: dict[str, Any], *, longest: int = MOST_ANSWER) -> str:
    if strange := [name for name in value if name not in _PARTS]:
        raise UsageError(f"A demonstration has no field {strange[0]!r:.80}. It may have: {', '.join(_PARTS)}.")
    for name, text in value.items():
        _require_text(name, text, MOST_TEXT if name == "reasoning" else longest)
    if not value.get("answer", "").strip():
        raise UsageError('The demonstration has no answer: give the right one as "answer".')
    return msgspec.json.encode({name: text for name, text in value.items() if text}, order="sorted").decode()


def _require_text(name: str, text: object, longest: int) -> None:
    if not isinstance(text, str):
        raise UsageError(f"{name} is {text!r:.80}: give a text.")
    if len(text) > longest:
        raise UsageError(f"{name} has {len(text)} characters: give at most {longest}.")
    if any("\ud800" <= letter <= "\udfff" or letter == "\0" for letter in text):
        raise UsageError(f"{name} is not valid Unicode, or has a null character: send it as UTF-8.")
    if longest == MOST_NAME and not text.isprintable():
        raise UsageError(f"{name} is {text!r:.80}: give a name without line breaks or control characters.")


def question_in(demonstration: str, known: str) -> str:
    """Return the question of a demonstration: the one asked, if `known`, else the one that it names."""
    return known or str(msgspec.json.decode(demonstration).get("question", ""))


def give_feedback(setting: Setting, state: State, command: GiveFeedback) -> list[Draft]:
    """Return the feedback, and the memory that it proposes. What is already on record is returned unchanged.

    Raises:
        UsageError: The value is not valid, a text is too long, or a demonstration names another question.
        Conflict: Different feedback exists under the same idempotency key.
    """
    event = feedback_event(command.said, key=command.key, session=command.session)
    if command.earlier:
        if _content(command.earlier) != _content(event):
            raise Conflict(
                f"The idempotency key {command.said.idempotency_key!r} was used for different feedback. To correct "
                f"it, send it with a new one: the latest counts."
            )
        return [draft_of(command.earlier)]
    return proposing(setting, state, command, msgspec.structs.replace(event, trust=command.trust))


def proposing(setting: Setting, state: State, command: GiveFeedback, event: FeedbackGiven) -> list[Draft]:
    """Return feedback with the memory that it proposes. Raises `UsageError` for one about another question."""
    if event.kind != "demonstration":
        return [draft_of(event)]
    _require_same_question(event.text, command.question)
    proposed = _proposed(setting, state, command, event)
    if isinstance(proposed, str):
        return [draft_of(msgspec.structs.replace(event, unused=proposed))]
    made: list[MemoryProposed | ProposalReviewed] = [proposed]
    if state.memory.count_of(proposed.memory_id):
        reason = f"{command.key or 'A client'} gives the same answer, and its answers are gold."
        made.append(
            ProposalReviewed(memory_id=proposed.memory_id, verdict="approved", reason=reason, by=proposed.origin.by)
        )
    # Two keys may propose the same memory.
    ordinal = int(event.feedback[:7], 16)
    event = msgspec.structs.replace(event, memory_id=proposed.memory_id)
    return [draft_of(event), *(Draft(event=each, iteration=-1, phase="serve", ordinal=ordinal) for each in made)]


def unused_if_refused(drafts: Sequence[Draft]) -> list[Draft]:
    """Return what feedback leads to; where the leak guard refused the memory it proposed, the feedback says so."""
    refused = {draft.event.memory_id: draft.event for draft in drafts if isinstance(draft.event, MemoryRefused)}

    def with_reason(draft: Draft) -> Draft:
        event = draft.event
        if not isinstance(event, FeedbackGiven) or not (why := refused.get(event.memory_id)):
            return draft
        kept_for = "anchors" if why.split == "anchors" else "exams"
        unused = f"It is like a question that the run keeps for its {kept_for}, from which nothing may be learned."
        return msgspec.structs.replace(draft, event=msgspec.structs.replace(event, memory_id="", unused=unused))

    return [with_reason(draft) for draft in drafts]


def _require_same_question(demonstration: str, known: str) -> None:
    """Raise `UsageError` if a demonstration names a different question from its inference's, since it would answer that
    one."""
    named = question_in(demonstration, "")
    one, other = (" ".join(text.casefold().split()) for text in (named, known))
    if not one or not other or one in other or other in one:  # one may be the other within a template
        return
    raise UsageError(
        f"question is {named!r:.80}, but the inference's is {known!r:.80}. Leave `question` out if the answer is "
        "to the inference's; else give the id of the inference that asked this question."
    )


def not_found(said: Feedback) -> NotFound:
    if said.session_id:
        hint = "the X-Session-Id of its requests, or X-Mage-Inference of the first reply"
        return NotFound(f"No session {said.session_id!r:.160} came with this key. Give {hint}.")
    hint = "the id that the reply has in X-Mage-Inference"
    return NotFound(f"No inference {said.inference_id!r:.160} came with this key. Give {hint}.")


def _content(event: FeedbackGiven) -> tuple[object, ...]:
    return event.inference, event.session, event.metric, event.kind, event.value_micro, event.text


def _proposed(setting: Setting, state: State, command: GiveFeedback, event: FeedbackGiven) -> MemoryProposed | str:
    """Return the memory that a demonstration gives, or why it gives none."""
    question = question_in(event.text, command.question)
    if command.trust not in ("gold", "full"):
        return "Only recorded: the server was started without --learn propose, or the key's trust is not full or gold."
    if not question.strip() or command.vector is None:
        return "The question is not known: its text was not recorded. Send it as `question` in the value."
    if len(question) > MOST_TEXT:
        return f"The question has {len(question)} characters; a memory's may have at most {MOST_TEXT}."
    parts = {"reasoning": "", "wrong_answer": "", **msgspec.json.decode(event.text)}
    answer, reasoning = parts["answer"].strip(), parts["reasoning"].strip()
    if command.extracted and command.said.kind:  # an edited reply: the answer and what leads to it
        answer, reasoning = command.extracted, reasoning_of(answer, command.extracted, setting.answer_format)
    if len(answer) > MOST_ANSWER:
        return f"The answer has {len(answer)} characters; a memory's may have at most {MOST_ANSWER}."
    identity: dict[str, Any] = {
        "outcome": "failure_memory" if parts["wrong_answer"] else "success_memory",
        "kind": "specific" if parts["wrong_answer"] else "",
        "task_type": command.task_type,
        "question": question,
        "answer": answer,
        "reasoning": capped(reasoning, setting.config.reasoning_cap),
    }
    name = memory_id(**identity, salt=setting.salt)
    del identity["kind"]
    proposed = MemoryProposed(
        **identity,
        memory_id=name,
        feedback=event.feedback,
        key=command.key,
        is_gold=command.trust == "gold",
        skill=state.graph.skill_for_task(command.task_type),
        wrong_answer=parts["wrong_answer"],
        origin=Origin(facts=(draft_of(event).fact_id.hex(),), saw="answers", by=command.key or "client"),
        embedding=to_bytes(command.vector),
    )
    return (_why_not_again(state, proposed) if state.memory.count_of(name) else "") or proposed


def _why_not_again(state: State, proposed: MemoryProposed) -> str:
    """Return why a demonstration of a memory that exists is not used, "" if it approves that memory: gold, from a key
    that is not in doubt, and the first such word of its key."""
    name, row = proposed.memory_id, state.memory.row(proposed.memory_id)
    earlier = state.traffic.proposal(name)
    if earlier is None or state.traffic.verdict(name) not in ("", "waiting"):
        return "The run has this memory already, or had it and took it out of use."
    is_repeated = earlier.is_gold and earlier.key == proposed.key
    if not proposed.is_gold or is_repeated or proposed.origin.by in doubted(state.memory, proposed.task_type):
        return f"It was proposed already, and is on trial or waits for a review: {name}."
    if (row.question, row.wrong_answer) != (proposed.question, proposed.wrong_answer):
        return (
            f"It was proposed already in other letters, or with another wrong answer, for a person to review: {name}."
        )
    return ""


def last_words(words: Iterable[FeedbackGiven]) -> list[FeedbackGiven]:
    """Return, from feedback in the log's order, the last score and the last demonstration of each thing, metric and
    key. A text has no effect, so it does not revoke a score either."""
    last: dict[tuple[object, ...], FeedbackGiven] = {}
    for word in words:
        if word.kind != "text":
            about = word.inference or ("", word.session)
            last[about, word.metric, word.key, word.kind == "demonstration"] = word
    return list(last.values())
