"""Each asking of a question in full: its plan, the prompts exactly as sent and the texts that they quote, the replies,
the verdict.

Rules
    - A prompt is shown as logged, as in `show`, and says whether it has its recorded hash. The texts that it quotes are
      found by rendering it again from the plan and the state that it was made on; if that is impossible, the page says
      why and shows the rest.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mage_es.engine.askings.requests import Requests
from mage_es.engine.courses import Ask
from mage_es.engine.embedders.registry import LateEmbedder
from mage_es.engine.run.world import World, first_event, reopen_world, require_scoring, state_of
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.model import Request
from mage_es.engine.session.course_choice import is_rivals
from mage_es.engine.viewing.learned import Learned
from mage_es.engine.viewing.reading import NEAR, RunReading, Windows
from mage_es.engine.viewing.tables import columns_of
from mage_es.engine.viewing.transcript import (
    ABOUT,
    ENDS,
    CallReport,
    Quotation,
    TrimReport,
    course_taken,
    replayed,
    report_of,
)
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.errors import MageError, PrerequisiteError
from mage_es.events.facts.private import is_erased, quotes_erased
from mage_es.events.vocabulary import Event, Record
from mage_es.projections.fold import State

_RULE = "the benchmark's rule"
_ERASED = "Erased: texts of these prompts are a subject's whose key was destroyed, or is not here."
_SECRET = "The texts of subjects leave this machine encrypted, so no prompt of theirs is shown."


class _Asking(NamedTuple):
    """A row of `askings`: its plan (None for a carried verdict), the facts after that, and their events."""

    row: int
    plan: Record | None
    facts: list[Record]


class Rendered:
    """The rows of `answers` of a run. `problem` says why no prompt is rendered again, "" if they are."""

    def __init__(
        self, reading: RunReading, *, data_dir: Path | str | None = None, benchmark: Benchmark | None = None
    ) -> None:
        self._run, self._life, self._exams = reading.run, reading.life, reading.exams
        self._reader = reader = reading.windows.reader
        self._windows: dict[int | None, Windows] = {None: reading.windows}
        self._requests: dict[int | None, Requests] = {None: Requests(reader)}
        self._state: State | None = None
        self._world: World | None = None
        self.problem = ""
        try:
            if reader.keys is None and (self._run.path / "keys").exists():
                self.problem = _SECRET
            else:
                late = LateEmbedder(first_event(reader))
                self._world = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, embedder=late, frozen=True)
        except (MageError, OSError) as error:
            self.problem = str(error)
        self._texts = {} if self._world else reading.texts

    def rows(self, first: int, last: int) -> dict[str, Any]:
        """Return the askings from row `first` to row `last`, with the texts that their prompts quote."""
        columns, texts = self._life.asked.askings.columns, dict[str, int]()
        found: dict[int, dict[str, Any]] = {}
        places = range(first, last + 1)
        for exam in dict.fromkeys(columns["exam"][row] for row in places):
            if exam is not None and exam not in self._windows:
                own, seq = self._exams[exam].log(self._run), self._exams[exam].opened.head_seq
                self._windows[exam] = Windows(own, whole=True)
                self._requests[exam] = Requests(own, run=self._reader, head_seq=seq)
            rows = [row for row in places if columns["exam"][row] == exam]
            for asking in self._askings(self._windows[exam], rows):
                found[asking.row] = self._row(asking, texts, exam)
        return {"columns": columns_of([found[row] for row in places]), "texts": list(texts)}

    def _askings(self, windows: Windows, rows: Sequence[int]) -> Iterable[_Asking]:
        """Return the askings of these rows with their facts: those after the plan, up to the verdict."""
        life, asked = self._life, self._life.asked
        columns, ended, names = asked.askings.columns, asked.ended, asked.questions.columns["id"]
        found = {row: _Asking(row, None, []) for row in rows}
        by_seq = {columns["seq"][row]: row for row in rows}
        # An asking without a verdict was under way when its phase, or the log, ended.
        stops = [*life.stops, life.seq] if columns["exam"][rows[0]] is None else [windows.reader.head.seq]
        until = max(ended[row] or stops[bisect_left(stops[:-1], columns["seq"][row])] for row in rows)
        open_now: dict[tuple[int, str, str], int] = {}
        for record in windows.records(min(by_seq), until):
            event = record.event
            if not isinstance(event, v.QuestionPlanned | v.AnswerCarried) and type(event) not in ABOUT:
                continue
            if (row := by_seq.get(record.seq)) is not None:
                open_now[record.iteration, record.phase, names[columns["question"][row]]] = row
                found[row] = _Asking(row, record if isinstance(event, v.QuestionPlanned) else None, [])
            if isinstance(event, v.QuestionPlanned):
                continue
            name = getattr(event, ABOUT.get(type(event), "question_id"))
            while (key := (record.iteration, record.phase, name)) not in open_now and "/" in name:
                name = name.rpartition("/")[0]
            if (row := open_now.get(key)) is not None:
                found[row].facts.append(record)
                if record.seq == ended[row]:
                    del open_now[key]
        return found.values()

    def _row(self, asking: _Asking, texts: dict[str, int], exam: int | None) -> dict[str, Any]:
        asked, requests = self._life.asked, self._requests[exam]
        name = asked.questions.columns["id"][asked.askings.columns["question"][asking.row]]
        question = self._world.questions.get(name) if self._world else self._texts.get(name)
        end = next((r.event for r in asking.facts if isinstance(r.event, ENDS)), None)
        plan = asking.plan.event if asking.plan else None
        is_gone = any(isinstance(r.event, v.ModelCalled) and is_erased(r.event.request_sha256) for r in asking.facts)
        moves = _recorded(asking.facts, requests)
        problem = (self.problem or (_ERASED if is_gone else "")) if plan else ""
        if self._world and not is_gone and asking.plan and isinstance(plan, v.QuestionPlanned):
            try:
                state = self._state_at(asking.plan.commit - 1 if exam is None else self._exams[exam].opened.head_seq)
                moves = self._moves(self._world, state, plan, asking.facts, texts, requests)
            except PrerequisiteError as error:  # this machine lacks something, such as a model, and so for every prompt
                self.problem = problem = str(error)
                self._world = None
            except (MageError, OSError, LookupError, ValueError, AssertionError) as error:
                # Whatever a foreign log does to a course, its page shows what the log says.
                problem = str(error) or type(error).__name__
        checks = [move["verified"] for move in moves if move["kind"] in ("call", "trimmed")]
        shown = [piece for move in moves for piece in move.get("prompt", ()) if isinstance(piece, str)]
        if not problem and any(map(quotes_erased, shown)):
            problem = _ERASED
        return {
            "question_text": question.question if question else "",
            "context": question.context if question else "",
            "expected": getattr(question, "gold", None) if self._world and self._world.has_gold else None,
            "answer": getattr(end, "answer", ""),
            "facts": [*_facts(plan, end), *self._anew(exam, name)],
            "problem": problem,
            **_planned(plan if isinstance(plan, v.QuestionPlanned) else None, self._life.learned),
            "verified": None if problem or not checks else all(checks),
            "calls": moves,
        }

    def _anew(self, exam: int | None, name: str) -> Iterator[list[str]]:
        """Yield an exam's answer as rescored, if a scorer scored it again."""
        again = self._exams[exam].rejudged if exam is not None else None
        for each in again.verdicts if again else ():
            if each.question_id == name:
                yield ["scored again", "correct" if each.correct else "wrong"]

    def _moves(
        self,
        world: World,
        state: State,
        plan: v.QuestionPlanned,
        facts: Sequence[Record],
        texts: dict[str, int],
        requests: Requests,
    ) -> list[dict[str, Any]]:
        if is_rivals(state, plan):
            require_scoring(world, "what a baseline asked")
        events = [record.event for record in facts]
        seqs = {id(record.event): record.seq for record in facts}
        failures = [event for event in events if isinstance(event, v.CallFailed)]
        found, is_first, taken = list[dict[str, Any]](), True, set[int]()
        for move, fact in replayed(course_taken(world, state, plan, events), events):
            taken.add(id(fact))
            if isinstance(fact, v.CallFailed):
                continue
            report = report_of(move, state, fact, requests)
            if isinstance(move, Ask) and isinstance(report, CallReport):
                called = fact if isinstance(fact, v.ModelCalled) else None
                tried = [f for f in failures if (f.about, f.attempt) == (move.about, move.attempt)]
                told_now = _call(move, called, seqs.get(id(fact), 0), failures=tried)
                sent = requests.request(called.sent) if called else move.request
                told_now |= _prompt(sent or Request(prompt=""), report.sources, texts)
                is_planned = not is_first or (sent is not None and sha256_text(sent.text) == plan.prompt_sha256)
                told_now |= {"verified": report.verified and is_planned if sent is None or _is_whole(sent) else None}
                found.append(told_now | ({"sha256": plan.prompt_sha256} if is_first else {}))
                is_first = False
            elif isinstance(report, TrimReport):
                is_first = False
                found.append(
                    {"kind": "trimmed", "about": report.about, "memory": report.memory_id, "problem": report.problem}
                    | {"verified": report.verified}
                )
            else:
                kind = str(type(report).__struct_config__.tag)
                shown = {"memories": fact.memories} if isinstance(fact, v.EpisodeStepped) else {}
                found.append({"kind": kind, **msgspec.structs.asdict(report), **shown})
        # It was asked, although this version of the program would not have asked it.
        return [*found, *_recorded([record for record in facts if id(record.event) not in taken], requests)]

    def _state_at(self, seq: int) -> State:
        """Return the state after an event; askings mostly come in order, so the fold continues from the last state."""
        if self._state is None or not self._state.seq <= seq <= self._state.seq + NEAR:
            self._state = state_of(self._run, self._reader, until=seq)
        if self._state.seq < seq:  # one by one: these events were already read for the previous askings
            for record in self._windows[None].records(self._state.seq + 1, seq):
                self._state.apply(record.event)
            self._state.seq = seq
        return self._state


def _prompt(request: Request, sources: Iterable[Quotation], texts: dict[str, int]) -> dict[str, Any]:
    """Return a prompt as text and numbers of quoted texts; a quotation inside another belongs to the outer one."""
    pieces, at = list[str | dict[str, Any]](), 0
    for span in sorted(sources, key=lambda span: (span.offset, -span.length)):
        if span.offset < at or not span.length:
            continue
        pieces.append(request.prompt[at : span.offset])
        at = span.offset + span.length
        number = texts.setdefault(request.prompt[span.offset : at], len(texts))
        pieces.append({"t": number, "source": span.source})
    pieces.append(request.prompt[at:])
    return {"system": request.system, "prompt": [piece for piece in pieces if piece], "rest": request.terms}


def _call(
    asked: Ask | v.ModelCalled, called: v.ModelCalled | None, seq: int, *, failures: Sequence[v.CallFailed] = ()
) -> dict[str, Any]:
    """Return what was asked with its reply; a call that was not made, or is still open, has none."""
    return {
        "kind": "call",
        **{name: getattr(asked, name) for name in ("about", "tier", "agent")},
        "seq": seq,
        "sha256": "",
        "reply": called.text if called else "",
        **{name: getattr(called, name, "") for name in ("model", "served_by", "request_sha256", "stop_reason")},
        **{name: getattr(called, name, 0) for name in ("input_tokens", "output_tokens", "latency_us")},
        "failures": [f"{each.fault}: {each.problem}" for each in failures],
    }


def _recorded(facts: Sequence[Record], requests: Requests) -> list[dict[str, Any]]:
    """Return what a log alone says about an asking: calls, without what their prompts quote."""
    found = list[dict[str, Any]]()
    for record in facts:
        if isinstance(called := record.event, v.ModelCalled):
            # No ciphertexts: without a key they are not a prompt, and a token reveals whose text it was.
            is_gone = is_erased(called.request_sha256)
            sent = None if is_gone else requests.request(called.sent)
            told_now = _call(called, called, record.seq)
            gone = [str(called.request_sha256)] if is_gone else []
            told_now |= _prompt(sent, (), {}) if sent else {"system": "", "prompt": gone, "rest": ""}
            is_whole = sent is not None and _is_whole(sent)
            found.append(told_now | {"verified": sent.sha256 == called.request_sha256 if sent and is_whole else None})
    return found


def _is_whole(sent: Request) -> bool:
    """Return whether a prompt can be checked: with a token in place of an erased text it cannot have its hash."""
    return not quotes_erased(sent.text)


def _planned(plan: v.QuestionPlanned | None, learned: Learned) -> dict[str, Any]:
    """Return what a plan says; empty values if the question was asked without a plan."""
    if plan is None:
        arms: list[Any] = []
        return {
            **dict.fromkeys(("arms", "bundle", "left_out"), arms),
            **dict.fromkeys(("tool", "template", "prompt_sha256"), ""),
        }
    rows, memories = learned.rows, learned.memories.columns

    def shown(name: str, similarity: float | None, what: str = "") -> list[Any]:
        row = rows.get(name)
        known = ("", "memory") if row is None else (memories["title"][row], memories["kind"][row])
        return [name, similarity, what or known[1], known[0]]

    others = [*(("principle", name) for name in plan.principles), *(("recipe", name) for name in plan.action_recipes)]
    others += [(what, name) for what, name in (("tool", plan.tool_id), ("retrieval", plan.recipe_id)) if name]
    return {
        "arms": [
            ["search", plan.search_arm, plan.search_probability, plan.task_type],
            ["routing", plan.routing_arm, plan.routing_probability, plan.skill],
        ],
        "bundle": [
            *(shown(hit.memory_id, hit.similarity) for hit in plan.memories),
            *(shown(name, None, what) for what, name in others),
        ],
        "left_out": [shown(hit.memory_id, hit.similarity) for hit in plan.left_out],
        "template": plan.template,
        "tool": plan.tool_id,
        "prompt_sha256": plan.prompt_sha256,
    }


def _facts(plan: Event | None, end: Event | None) -> list[list[str]]:
    """Return everything else about an asking, each part with its name."""
    facts: dict[str, str] = {}
    match end:
        case v.AnswerUndecided():
            facts["undecided"] = end.problem
        case v.AnswerJudged(judge=judge, reason=why):
            facts["judged by"] = ": ".join(filter(None, (judge or _RULE, why)))
        case v.AnswerUnanswered(problem=why):
            facts["judged by"] = ": ".join(filter(None, (_RULE, why)))
    if isinstance(plan, v.QuestionPlanned):
        facts |= {"template": plan.template.replace("_", " "), "guiding skill": plan.guiding_skill, "donor": plan.donor}
        facts |= {"planned over": ", ".join(plan.planning), "chain of skills": " → ".join(plan.chain)}
        facts["coin"] = f"left out with probability {plan.coin:.2f}" if plan.coin else ""
    return [[name, text] for name, text in facts.items() if text]
