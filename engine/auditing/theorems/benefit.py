"""Never worse than no memory: what was learned is served only where the anchors' record favours it.

From the logs alone: each decision is made again from the verdicts on the anchors before it; each question of an exam,
and each question learned from, was asked as decided for its type; and a bare plan names nothing that was learned. (What
a served run put into requests is checked in engine/serving/checks.py.)
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from mage_es.engine.config import Config
from mage_es.engine.rules.benefit import Pair, decide_benefit, decide_recall, is_outdated
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import exam_records
from mage_es.engine.run.inheriting import inheritance, last_inherited
from mage_es.engine.seams.check import Check
from mage_es.events.errors import LogError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerCarried, AnswerJudged, BenefitDecided, Event, QuestionPlanned
from mage_es.projections.benefit import Benefit
from mage_es.projections.fold import fold
from mage_es.projections.memory import Memory

NAME = "never worse"
BOUND = "0 against the record"


def check_benefit(run: Run, reader: LogReader, config: Config) -> Check:
    """Return whether everything was served as the preceding record of the anchors decides (rules/benefit.py)."""
    decided = list[tuple[int, BenefitDecided]]()
    begun, inherited = inheritance(reader), last_inherited(reader)
    is_going_on = begun is not None and begun.iteration >= 0 and not begun.is_served
    last = begun.iteration + config.iterations if begun and is_going_on else -1
    record = _Record(config, last)
    for seq, event in reader.numbered(AnswerCarried, AnswerJudged, BenefitDecided, QuestionPlanned):
        if isinstance(event, BenefitDecided) and event.iteration == last and seq > inherited:
            record.memory = fold(reader, until=seq - 1).memory
        if seq > inherited and (problem := record.problem_of(event)):
            return Check(name=NAME, ok=False, detail=problem, bound=BOUND, seq=seq)
        if isinstance(event, BenefitDecided):
            decided.append((seq, event))
    if not decided:
        detail = "nothing is claimed: no question was asked both ways, so nothing was tested against the bare prompt"
        return Check(name=NAME, ok=True, detail=detail, bound="none")
    asked = 0
    for name, control, event, found in _examined(run, reader, decided):
        asked += 1
        is_bare = control == "bare" or found.is_bare(event.task_type)
        if event.routing_arm == RECALL:  # whether it was rightly recalled is checked in recount.py
            is_bare = control == "bare" or not found.may_recall(event.task_type)
        if problem := _misplanned(event, is_bare=is_bare):
            return Check(name=NAME, ok=False, detail=f"exam {name}: {problem}", bound=BOUND)
    off = " (gate off: what was learned is served in any case)" if config.gate == "off" else ""
    own = sum(seq > inherited for seq, _ in decided)
    detail = f"{own} decisions follow from the anchors, and {asked} questions of exams from them{off}"
    return Check(name=NAME, ok=True, detail=detail, measured=BOUND, bound=BOUND)


class _Record:
    """What the verdicts on the anchors say so far."""

    def __init__(self, config: Config, last: int) -> None:
        """`last` is the last iteration of a run that continues another, whose anchors may be out of date; otherwise
        -1."""
        self._config, self._last = config, last
        self._anchors = defaultdict[int, dict[str, bool]](dict)
        self._fresh = defaultdict[str, list[bool]](list)
        self._bare, self._learned, self._types = dict[str, bool](), dict[str, bool](), dict[str, str]()
        self._first = dict[str, bool]()  # asked when nothing had been learned
        self._recalled = dict[str, bool]()  # whether an anchor was when it was last asked
        self.memory = Memory()
        """What had been learned when the last decision was made."""

    def problem_of(self, event: Event) -> str:
        match event:
            case AnswerJudged(purpose="anchor" | "fresh"):  # a fresh question is a pair if it was also asked bare
                self._learned[event.question_id], self._types[event.question_id] = event.correct, event.task_type
                if event.iteration < 0:  # the start of a run that began with nothing
                    self._bare[event.question_id] = event.correct
                elif event.purpose == "fresh" and event.iteration == 0:
                    self._first[event.question_id] = event.correct
                if event.purpose == "anchor":
                    self._anchors[event.iteration][event.question_id] = event.correct
                    self._recalled[event.question_id] = event.recalled
                elif event.iteration == self._last:
                    self._fresh[event.task_type].append(event.correct)
            case AnswerJudged(purpose="bare"):
                self._bare[event.question_id] = event.correct
            case AnswerJudged(purpose="again"):
                if event.question_id not in self._first:
                    return f"{event.question_id} was asked again but never in the first iteration"
                self._learned[event.question_id], self._types[event.question_id] = event.correct, event.task_type
                self._bare[event.question_id] = self._first[event.question_id]
            case AnswerCarried():
                self._types[event.question_id] = event.task_type
                self._anchors[event.iteration][event.question_id] = event.correct
            case BenefitDecided():
                return self._undecided(event)
            case QuestionPlanned():
                return _misplanned(event, is_bare=event.purpose == "bare")
        return ""

    def _undecided(self, event: BenefitDecided) -> str:
        pairs, recalled = dict[str, list[Pair]](), dict[str, list[Pair]]()
        anchors, known = self._anchors[event.iteration - 1], {name for each in self._anchors.values() for name in each}
        asked = defaultdict[str, list[bool]](list)
        for name, is_right in anchors.items():
            if not self._recalled.get(name):
                asked[self._types[name]].append(is_right)
        old = {
            task_type
            for task_type, fresh in self._fresh.items()
            if is_outdated(self.memory, task_type, fresh, asked[task_type])
        }
        for name in sorted(self._bare.keys() & self._learned.keys()):
            if name in known and self._types[name] in old:
                continue
            of = recalled if self._recalled.get(name) else pairs
            of.setdefault(self._types[name], []).append(Pair(self._learned[name], self._bare[name]))
        is_gated = self._config.gate == "paired"
        start = event.iteration < 0
        records, pooled = decide_benefit(pairs, p=self._config.gate_p, is_gated=is_gated, is_start=start)
        if (event.records, event.pooled, event.recalled) != (records, pooled, decide_recall(recalled)):
            return f"iteration {event.iteration} does not decide what the anchors' answers say"
        return ""


def _misplanned(planned: QuestionPlanned, *, is_bare: bool) -> str:
    """Return how a plan differs from how its question should be asked, "" if it does not."""
    named = (*planned.memories, *planned.principles, *planned.chain, *planned.planning, *planned.action_recipes)
    if planned.is_bare and (named or planned.tool_id or planned.guiding_skill):
        return f"{planned.question_id} has the bare prompt, and something that was learned in it"
    if planned.is_bare != is_bare:
        words = ("the bare prompt", "what was learned")
        shown, wanted = words if planned.is_bare else words[::-1]
        return f"{planned.question_id} ({planned.task_type}) was asked with {shown}, where the record is for {wanted}"
    return ""


def _examined(
    run: Run, reader: LogReader, decided: list[tuple[int, BenefitDecided]]
) -> Iterator[tuple[str, str, QuestionPlanned, Benefit]]:
    """Yield each question of each exam that can be read, its control, and what had been decided at its state."""
    for record in exam_records(reader):
        found = Benefit()
        for seq, event in decided:
            if seq <= record.opened.head_seq:
                found.apply(event)
        with suppress(LogError):  # `check_inference` says what is wrong with it
            for planned in record.log(run).of(QuestionPlanned):
                yield record.opened.exam, record.opened.control, planned, found
