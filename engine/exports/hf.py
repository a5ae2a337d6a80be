"""The verb `export_hf`: a run as a data set folder that `datasets.load_dataset` and the Hugging Face Hub read.

    README.md                               the card: licence, tables with their splits, scorer, how to replay
    questions/<split>.jsonl                 the run's questions, as it committed to their splits
    memories.jsonl                          what was learned, with origin, status and effect
    answers/<split>.jsonl                   every question asked and answered: what was shown, said and judged
    traces/<split>/<place>/<event>.jsonl    the same, each as a session in the Hub's Session Trace Simple Format

Rules
    - A split is one of the three that the run committed to: evolution, anchors, held_out.
    - Right answers are included only on request, and only in the files of questions: once published, they may end up in
      the training data of the next model. Memories, like prompts, contain the right answers of the questions that they
      come from.
    - A row with a text of a subject is left out and counted: destroying the key would not erase the text there.
    - All files are JSON Lines, since `datasets` reads a folder with one reader, and traces have no other form. The card
      says what the columns of the tables are, so that no reader guesses it from the first rows.
    - The same log gives the same bytes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from mage_es.engine.askings.columns import uses_of
from mage_es.engine.askings.requests import Requests
from mage_es.engine.exports.event_files import new_folder
from mage_es.engine.exports.hf_card import ANSWERS, GOLD, MEMORIES, QUESTIONS, SPLITS, Contents, card, licence_of, named
from mage_es.engine.rules.quarantine import status_of
from mage_es.engine.rules.splits import recorded_splits
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.exams import ExamRecord, exam_records
from mage_es.engine.run.questions import stored_questions
from mage_es.engine.run.world import first_event
from mage_es.engine.seams.model import chat_of
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.engine.worth.memories import ids_of, item_in, text_of, things_of
from mage_es.events import vocabulary as v
from mage_es.events.errors import PrerequisiteError
from mage_es.events.facts.private import quotes_erased
from mage_es.events.log import LogReader
from mage_es.events.log.markers import mark_of
from mage_es.projections.fold import State, fold
from mage_es.projections.memory import MemoryRow

HARNESS = "mage-es"
_READS: frozenset[type[v.Event]] = frozenset({
    *(v.QuestionPlanned, v.BundleTrimmed, v.ModelCalled, v.ToolRan, v.SearchAnswered),
    *(v.AnswerJudged, v.AnswerUndecided, v.AnswerUnanswered),
})  # fmt: skip
_PLANNED = ("question_id", "task_type", "skill", "purpose", "iteration", "search_arm", "routing_arm")
_TEXTS = ("question_id", "question", "recognise", "reasoning", "answer", "wrong_answer")
_BREAKS = re.compile("[\x85\u2028\u2029]")
"""Characters that end a line for Python but not for JSON."""


class HfReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was written from events 1 to `until` of the run and from its `exams` up to there: `rows` by file, and the
    number of `traces`. `licence` is the card's, `left_out` the rows with texts of subjects."""

    run: str
    path: str
    until: int
    exams: int
    licence: str
    rows: dict[str, int]
    traces: int
    left_out: int


@typed
def export_hf(run: Run | Path | str, to: Path | str, *, until: str = "latest", gold: bool = False) -> HfReport:
    """Write a run into the folder `to`, which is created, as a data set of the Hugging Face Hub.

    Questions have their right answers and solutions only with `gold`.

    Raises:
        UsageError: The folder is not empty, or there is no such marker.
        PrerequisiteError: This copy of the run has no gold answers, and they were requested.
        LogDamaged: A log, or the stored questions, fail their checksums.
    """
    found, to = as_run(run), Path(to)
    reader = LogReader(found.log_path, opened=False)
    end = reader.resolve(until)
    with new_folder(to):
        return _exported(found, reader, to, end, gold=gold)


aexport_hf = in_thread(export_hf)


def _exported(run: Run, reader: LogReader, to: Path, until: int, *, gold: bool) -> HfReport:
    # Not from a snapshot: those have been decrypted where the keys are.
    begun, state = first_event(reader), fold(reader, until=until)
    exams = [each for each in exam_records(reader) if each.closed and each.seq <= until and each.is_there(run)]
    splits = _splits(run)
    folder = _Folder(to)
    asked = {**QUESTIONS, **(GOLD if gold else {})}
    with folder.opened:
        for row, split in _questions(reader, splits, gold=gold):
            folder.add(f"questions/{split}.jsonl", asked, row)
        for row in _memories(reader, state, until):
            folder.add("memories.jsonl", MEMORIES, row)
        for asking in _askings(run, reader, exams, until):
            if where := splits.get(asking.plan.question_id):
                row, said = asking.row(), asking.messages(state)
                is_clear = folder.add(f"answers/{where}.jsonl", ANSWERS, row | {"messages": _bare(said)})
                if is_clear and said:
                    folder.trace(f"traces/{where}/{asking.place}/{asking.record.seq}.jsonl", [_header(row), *said])
    contents = Contents(begun, reader.head, until, exams, folder.rows, folder.traces, folder.left_out, gold)
    (to / "README.md").write_text(card(contents), encoding="utf-8")
    return HfReport(
        run=run.id,
        path=str(to),
        until=until,
        exams=len(exams),
        licence=licence_of(begun),
        rows=folder.rows,
        traces=folder.traces,
        left_out=folder.left_out,
    )


class _Folder:
    """The files of the data set. Rows with a subject's text are left out."""

    def __init__(self, path: Path) -> None:
        self.opened, self.rows, self.traces, self.left_out = ExitStack(), dict[str, int](), 0, 0
        self._path, self._files = path, dict[str, BinaryIO]()

    def add(self, name: str, columns: Iterable[str], row: Mapping[str, Any]) -> bool:
        """Add a row to a table (the first one creates it), and return whether it could be shown."""
        if any(map(quotes_erased, _strings(row))):
            self.left_out += 1
            return False
        if name not in self._files:
            self._files[name] = self.opened.enter_context(self._new(name).open("wb"))
        self._files[name].write(_line({column: row[column] for column in columns}))
        self.rows[name] = self.rows.get(name, 0) + 1
        return True

    def trace(self, name: str, lines: Sequence[Mapping[str, Any]]) -> None:
        self._new(name).write_bytes(b"".join(map(_line, lines)))
        self.traces += 1

    def _new(self, name: str) -> Path:
        path = self._path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def _line(row: Mapping[str, Any]) -> bytes:
    text = msgspec.json.encode(row).decode()
    return _BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode() + b"\n"


def _strings(value: Any) -> Iterator[str]:
    """Yield every text of a row, one at a time, since the mark of an erased text counts only at the beginning of a
    word."""
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from _strings(each)
        case list() | tuple():
            for each in value:
                yield from _strings(each)


def _splits(run: Run) -> dict[str, str]:
    """Return the split of each question that the run committed to and that can be read here."""
    reader = LogReader(run.log_path)  # with keys: the hashes of a subject's questions are sealed, too
    questions, _ = stored_questions(reader, first_event(reader).benchmark)
    found = recorded_splits(list(reader.of(v.SplitCommitted)), questions)
    return {name: split for split in SPLITS for name in getattr(found, split)}


def _questions(reader: LogReader, splits: Mapping[str, str], *, gold: bool) -> Iterator[tuple[dict[str, Any], str]]:
    questions, has_gold = stored_questions(reader, "")
    if gold and not has_gold:
        raise PrerequisiteError(
            "This copy of the run has no gold answers: export without --gold, or copy its folder log/golds here."
        )
    for each in questions:
        if split := splits.get(each.id):
            row = {name: getattr(each, name) for name in QUESTIONS}
            yield row | {"answer": each.gold, "solution": each.solution}, split


def _memories(reader: LogReader, state: State, until: int) -> Iterator[dict[str, Any]]:
    uses = uses_of(reader, ids_of(state), until=until)
    for name, thing in things_of(state):
        item, use = item_in(state, name, thing), uses.of(name)
        is_memory = isinstance(thing, MemoryRow)
        fields = msgspec.structs.asdict(thing)
        origin, others = fields.pop("origin"), {} if is_memory else fields
        yield {
            **{each: getattr(item, each) for each in ("kind", "task_type", "skill", "iteration", "met")},
            "id": name,
            "status": status_of(state, name) or "",
            "text": text_of(thing),
            **{each: getattr(thing, each) if is_memory else None for each in _TEXTS},
            "details": msgspec.json.encode(others, enc_hook=str).decode() if others else None,
            "origin": {"writer": named(origin.writer), "saw": origin.saw, "by": origin.by, "facts": list(origin.facts)},
            "prompts": len(use.shown),
            "right": use.right.correct,
            **{"coin_in": use.coin.total, "coin_in_right": use.coin.correct},
            **{"coin_out": use.left.total, "coin_out_right": use.left.correct},
        }


class _Asking(NamedTuple):
    """A question asked and answered: its plan, its facts in order, its verdict, and an exam's newer verdict if any."""

    place: str
    requests: Requests
    record: v.Record
    plan: v.QuestionPlanned
    facts: list[v.Record]
    verdict: v.AnswerJudged | v.AnswerUndecided | v.AnswerUnanswered
    again: Any = None

    @property
    def calls(self) -> list[v.ModelCalled]:
        events = (fact.event for fact in self.facts)
        return [each for each in events if isinstance(each, v.ModelCalled) and each.tier == "execution"]

    def row(self) -> dict[str, Any]:
        plan, verdict, calls = self.plan, self.verdict, self.calls
        trimmed = {each.event.memory_id for each in self.facts if isinstance(each.event, v.BundleTrimmed)}
        shown: dict[str, float | None] = {hit.memory_id: hit.similarity for hit in plan.memories}
        shown |= dict.fromkeys((*plan.principles, *plan.action_recipes, plan.tool_id, plan.recipe_id))
        match verdict:
            case v.AnswerJudged():
                decided = self.again or verdict
                said = {"correct": decided.correct, "score": decided.score_micro / v.MICRO}
                said |= {"judge": named(verdict.judge), "problem": verdict.reason}
            case _:
                is_lost = isinstance(verdict, v.AnswerUnanswered)
                said = {"correct": False if is_lost else None, "score": None, "judge": "", "problem": verdict.problem}
        return {
            "id": self.record.event_id.hex(),
            "place": self.place,
            **{name: getattr(plan, name) for name in _PLANNED},
            "memories": [{"id": n, "similarity": near} for n, near in shown.items() if n and n not in trimmed],
            "model": named(calls[-1].model) if calls else "",
            "answer": getattr(verdict, "answer", ""),
            **said,
            "calls": len(calls),
            "input_tokens": sum(call.input_tokens for call in calls),
            "output_tokens": sum(call.output_tokens for call in calls),
        }

    def messages(self, state: State) -> list[dict[str, Any]]:
        """Return what was said, message by message, as lines of a trace; nothing if a request is not on record."""
        lines, history = list[dict[str, Any]](), list[dict[str, str]]()
        for fact in self.facts:
            at, event = fact.ts_us // 1000, fact.event
            match event:
                case v.ModelCalled(tier="execution"):
                    request = self.requests.request(event.sent)
                    if request is None:
                        return []
                    sent = chat_of(request, joined=False)
                    # A call that continues a conversation repeats it.
                    lines += sent[len(history) :] if sent[: len(history)] == history else sent
                    history = [*sent, {"role": "assistant", "content": event.text}]
                    lines.append(history[-1] | {"model": named(event.model), "timestamp": at})
                case v.ToolRan():
                    name = state.tools.tool(event.tool_id).name
                    lines += _used(fact, name, event.arguments, event.problem or event.result)
                case v.SearchAnswered():
                    said = "\n\n".join(event.texts or event.titles)
                    query = msgspec.json.encode({event.wanted: event.query}).decode()
                    lines += _used(fact, "search", query, event.problem or said)
        return [{"type": "message", "message": line} for line in lines]


def _used(fact: v.Record, name: str, arguments: str, result: str) -> list[dict[str, Any]]:
    """Return the lines of a tool call, which the engine made on the model's behalf, and of its result."""
    ident, at = fact.event_id.hex()[:16], fact.ts_us // 1000
    call = {"id": ident, "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": "", "toolCalls": [call], "timestamp": at},
        {"role": "tool", "toolCallId": ident, "content": result, "timestamp": at},
    ]


def _header(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the first line of a trace. All of it is text: a reader would have to guess the type of nullable values."""
    kept = ("question_id", "task_type", "place", "purpose")
    verdict = {True: "right", False: "wrong", None: "undecided"}[row["correct"]]
    return {
        **{"type": "session", "harness": HARNESS, "id": row["id"], "name": f"{row['question_id']}, {row['place']}"},
        **{name: row[name] for name in kept},
        "verdict": verdict,
    }


def _bare(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{name: line["message"][name] for name in ("role", "content")} for line in lines]


def _askings(run: Run, reader: LogReader, exams: Sequence[ExamRecord], until: int) -> Iterator[_Asking]:
    requests = Requests(reader)
    for asking in _ended(reader.records(set(_READS), until=until), requests):
        yield asking._replace(place=mark_of(asking.record.iteration))
    for exam in exams:
        own = LogReader(run.exam(exam.opened.exam).log_path, opened=False)
        anew = {each.question_id: each for each in exam.rejudged.verdicts} if exam.rejudged else {}
        requests = Requests(own, run=reader, head_seq=exam.opened.head_seq)
        for asking in _ended(own.records(set(_READS)), requests):
            yield asking._replace(place=f"exam-{exam.opened.exam}", again=anew.get(asking.plan.question_id))


def _ended(records: Iterator[v.Record], requests: Requests) -> Iterator[_Asking]:
    """Yield the questions asked in a log that have a verdict, each after its verdict."""
    begun: dict[int, tuple[v.Record, v.QuestionPlanned, list[v.Record]]] = {}
    for record in records:
        event = record.event
        if isinstance(event, v.QuestionPlanned):
            begun[record.seq] = record, event, []
        elif record.causation not in begun:
            continue  # it is about no question, or inherited without its plan
        elif isinstance(event, v.AnswerJudged | v.AnswerUndecided | v.AnswerUnanswered):
            yield _Asking("", requests, *begun.pop(record.causation), event)
        else:
            begun[record.causation][2].append(record)
