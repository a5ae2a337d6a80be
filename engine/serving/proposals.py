"""No text that a client proposed reached a request before anchors that saw it, or a person, had approved it.

From the log alone: a publish names the anchors that were asked with a proposal, and how each was answered before and
with it. Plans and verdicts show whether that is true, and the rule (engine/serving/rules/trials.py) whether it was
enough.
"""

from collections import defaultdict
from collections.abc import Iterator

from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.seams.check import Check
from mage_es.engine.serving.rules.trials import why_undecided
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads

NAME = "proposals"
BOUND = "0 served unjudged"
_READS: Reads = {
    v.ServingStarted: ("process",),
    v.MemoryAppended: ("memory_id", "phase"),
    v.QuestionPlanned: ("iteration", "purpose", "question_id", "memories"),
    v.AnswerJudged: ("iteration", "purpose", "question_id", "correct"),
    v.AnswerCarried: ("iteration", "question_id", "correct"),
    v.GuardDecided: ("iteration", "verdict"),
    v.ProposalReviewed: ("memory_id", "verdict"),
    v.ProposalSettled: ("memory_id", "iteration", "verdict", "floor", "trials"),
    v.InferenceOpened: ("inference", "marker", "memories"),
}


def check_proposals(reader: LogReader) -> Iterator[Check]:
    """Yield the check of a served run, nothing for any other."""
    publishes = _Publishes()
    for seq, event in reader.events(_READS, since=last_inherited(reader) + 1):
        if problem := publishes.problem_of(event):
            yield Check(name=NAME, ok=False, detail=problem, bound=BOUND, seq=seq)
            return
    if publishes.is_served:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(publishes.counts.items())) or "none"
        detail = f"proposals: {counts}; {publishes.served} inferences got a published one"
        yield Check(name=NAME, ok=True, detail=detail, measured=BOUND, bound=BOUND)


class _Publishes:
    """What the log has recorded so far."""

    def __init__(self) -> None:
        self.is_served, self.served = False, 0
        self.counts: dict[str, int] = defaultdict(int)
        self._born: set[str] = set()
        self._approved: set[str] = set()
        self._since: dict[str, int] = {}
        """The iteration from which a proposal is in use."""
        self._shown: dict[tuple[int, str], set[str]] = {}
        self._answers: dict[int, dict[str, bool]] = defaultdict(dict)
        self._accepted: list[int] = []

    def problem_of(self, event: object) -> str:
        match event:
            case v.ServingStarted():
                self.is_served = True
            case v.MemoryAppended(phase="serve"):
                self._born.add(event.memory_id)
            case v.QuestionPlanned(purpose="anchor"):
                self._shown[event.iteration, event.question_id] = {hit.memory_id for hit in event.memories}
            case v.AnswerJudged(purpose="anchor") | v.AnswerCarried():
                self._answers[event.iteration][event.question_id] = event.correct
            case v.GuardDecided(verdict="accepted"):
                self._accepted.append(event.iteration)
            case v.ProposalReviewed():
                self.counts[event.verdict] += 1
                (self._approved.add if event.verdict == "approved" else self._approved.discard)(event.memory_id)
            case v.ProposalSettled():
                return self._settled(event)
            case v.InferenceOpened():
                return self._opened(event)
        return ""

    def _settled(self, event: v.ProposalSettled) -> str:
        name, k = event.memory_id, event.iteration
        self.counts[event.verdict] += 1
        if event.verdict != "published" or name not in self._born:
            return ""
        self._since[name] = k
        if name in self._approved:
            return ""
        if why := why_undecided(event.trials, event.floor):
            return f"the memory {name} was published in iteration {k}, and no person had approved it: {why}"
        before = self._answers[next((each for each in reversed(self._accepted) if each != k), k)]
        for trial in event.trials:
            anchor, now = trial.question_id, self._answers[k]
            said = (trial.was_right, trial.is_right)
            if trial.is_shown and name not in self._shown.get((k, anchor), ()):
                return f"the anchor {anchor} was not asked with the memory {name} in iteration {k}"
            if trial.is_shown and said != (before.get(anchor, False), now.get(anchor, False)):
                return f"the anchor {anchor} was answered differently from what the trial of the memory {name} says"
        return ""

    def _opened(self, event: v.InferenceOpened) -> str:
        proposed = self._born.intersection(event.memories)
        self.served += bool(proposed)
        for name in sorted(proposed):
            if self._since.get(name, event.marker + 1) > event.marker:
                return f"{event.inference} got the memory {name} of iteration {event.marker}, which let none such pass"
        return ""
