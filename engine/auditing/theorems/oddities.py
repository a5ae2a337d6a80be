"""What is odd but may be honest: different replies to the same request, repeated reply ids, time that runs backwards.
From the logs alone. Each raises a doubt and is not a failure: a served model is not strictly a function of its prompt,
and clocks get set.
"""

from collections import defaultdict
from contextlib import suppress

from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import exam_records
from mage_es.engine.seams.check import Check
from mage_es.events.errors import LogError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ModelCalled

_SET_BACK_US = 2_000_000
"""How far a clock may be set back."""


def check_oddities(run: Run, reader: LogReader) -> Check:
    """Return what is odd in a run and its exams, with the first place of each kind."""
    logs = [("the run", reader)]
    for exam in exam_records(reader):
        with suppress(LogError):  # `check_inference` says what is wrong with it
            logs.append((f"exam {exam.opened.exam}", exam.log(run)))
    # The learner's replies in exams; the same request shows the same content of the same state.
    replies = defaultdict[tuple[str, str, str], dict[str, str]](dict)
    # The request of each id; one of the same request that repeats may come from another run's record.
    requests, without = dict[tuple[str, str], str](), defaultdict[str, list[str]](list)
    repeated, set_back = list[str](), list[str]()
    for where, log in logs:
        latest = 0
        for record in log.records():
            place, call = f"{where}, event {record.seq}", record.event
            if record.ts_us < latest - _SET_BACK_US:
                set_back.append(place)
            latest = max(latest, record.ts_us)
            if not isinstance(call, ModelCalled):
                continue
            if call.tier == "execution" and record.phase == "exam":
                texts = replies[call.model, call.about, call.request_sha256]
                texts.setdefault(call.text, f"{where}, {call.about}")
            if not call.provider_id:
                without[call.model].append(place)
            elif requests.setdefault((call.model, call.provider_id), call.request_sha256) != call.request_sha256:
                repeated.append(place)
    kinds = {
        "requests got another reply in another exam": [
            [*texts.values()][-1] for texts in replies.values() if len(texts) > 1
        ],
        "ids of replies repeat": repeated,
        "replies have no id, where their model gives some": [
            place for model in sorted({model for model, _ in requests}) for place in without[model]
        ],
        "events are earlier than one before them": set_back,
    }
    listed = [f"{len(found)} {what} (first {found[0]})" for what, found in kinds.items() if found]
    detail = "; ".join(listed) or "each request has one reply, each reply its own id, and time runs on"
    measured = f"{sum(map(len, kinds.values()))} odd"
    return Check(name="oddities", ok=True, detail=detail, measured=measured, bound="0 odd", doubt=bool(listed))
