"""Everything learned names what it was made from: verdicts, replies and feedback earlier in the log. For what a run
began with, its parent's log has the replies."""

from typing import Any

from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.seams.check import Check
from mage_es.events.facts.shapes import shapes_of
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import EVENT_TYPES, AnswerJudged, FeedbackGiven, ModelCalled

NAME = "origins"
BOUND = "0 without an origin"


def check_origins(reader: LogReader) -> Check:
    """Return whether every fact that an origin names is in the log, before what was made from it."""
    inherited, made = last_inherited(reader), [cls for cls in EVENT_TYPES.values() if "origin" in shapes_of(cls)]
    recorded = {
        record.fact_id.hex(): record.seq for record in reader.records({AnswerJudged, FeedbackGiven, ModelCalled})
    }
    learned: list[tuple[int, Any]] = list(reader.numbered(*made))
    for seq, event in learned:
        if not event.origin.facts:
            return _broken(seq, "what was learned names nothing that it was made of")
        for fact in event.origin.facts:
            if seq > inherited and recorded.get(fact, seq) >= seq:
                return _broken(seq, f"what was learned names the fact {fact}, which the log does not have before it")
    of = sum(seq <= inherited for seq, _ in learned)
    detail = f"{len(learned)} origins, each of facts before it" + (f", {of} by the parent" if of else "")
    return Check(name=NAME, ok=True, detail=detail, measured=BOUND, bound=BOUND)


def _broken(seq: int, detail: str) -> Check:
    return Check(name=NAME, ok=False, detail=detail, measured="1 without an origin", bound=BOUND, seq=seq)
