"""`mage-es show`: one question as a run asked it: bundle, exact prompt, answer, verdict; or one recorded event."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.engine.config import MOST
from mage_es.engine.viewing.cli.tables import asked, bundle
from mage_es.events.errors import UsageError
from mage_es.events.facts.private import quotes_erased

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run
    from mage_es.engine.served.inferences import InferenceReport
    from mage_es.engine.viewing.transcript import MoveReport
    from mage_es.events.vocabulary import FeedbackGiven

_INFERENCE = re.compile(r"inf-\d+-\d+")
_EVENT = re.compile(r"seq:\d+")
EXAMPLES = examples(
    "mage-es show wordmath-evolution-2982",
    "mage-es show wordmath-evolution-2982 RUN --iteration 3",
    "mage-es show wordmath-test-30 --exam 1",
    "mage-es show seq:120 --json",
)


@takes("runs_dir", "data_dir")
def show(
    question: Annotated[
        str, typer.Argument(help="Id of a question of the run, or of an inference (inf-1-3); or an event (seq:120).")
    ],
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    iteration: Annotated[
        int | None, typer.Option("--iteration", help="Iteration in which it was asked. [default: the last]")
    ] = None,
    exam: Annotated[
        int | None,
        typer.Option("--exam", metavar="N", min=1, max=MOST, help="Number of the exam in which it was asked."),
    ] = None,
) -> None:
    """Show a question as a run or an exam asked it, or an inference as it was served: memories, exact text, outcome.

    For an event, show every field.
    """
    from mage_es.engine.viewing.show import has_served, show_inference
    from mage_es.engine.viewing.show import show as show_question

    if run and (_INFERENCE.fullmatch(run) or _EVENT.fullmatch(run)):  # the run first, as in other commands
        question, run = run, question
    found = settings.find_run(run)
    if _EVENT.fullmatch(question):
        if iteration is not None or exam is not None:
            raise UsageError(f"{question} names one event of the run: leave out --iteration and --exam.")
        _event(found, question, settings=settings, out=out)
        return
    if _INFERENCE.fullmatch(question) and has_served(found):
        inferred = show_inference(found, question)
        out.report(inferred, inference_table(inferred), *put_in(inferred))
        out.next(settings.again("gain", found.id))
        return
    report = show_question(found, question, iteration=iteration, exam=exam, data_dir=settings.data_dir)
    moves = [text for number, move in enumerate(report.moves, start=1) for text in _texts(number, move)]
    out.report(report, asked(report), bundle(report.bundle), *moves)
    if report.other_times:
        out.say(f"Also asked: {', '.join(report.other_times)}.")
    out.next(settings.again("exam", report.run_id))


def _event(run: Run, marker: str, *, settings: Settings, out: Output) -> None:
    from mage_es.events.facts.plain import plain
    from mage_es.events.log import LogReader

    reader = LogReader(run.log_path)
    seq = reader.resolve(marker)
    document = plain(next(reader.records(since=seq, until=seq)))
    out.report(document, "\n".join(_fields(document)))
    out.next(settings.again("show", f"seq:{min(seq + 1, reader.head.seq)}", run.id))


def put_in(report: InferenceReport) -> list[str]:
    """Return what was put into a request: cases as turns, the first of which begins with the notes, or a note alone."""
    turns = [f"User:\n{question}\n\nAssistant:\n{reply}" for question, reply in report.turns]
    return turns + ([f"Note:\n{report.note}"] if report.note else [] if turns else ["Note: none"])


_NO_END = "none yet: it is in flight, or was cut by the end of its process, which is recorded when the next one begins"


def inference_table(report: InferenceReport) -> TextTable:
    opened, closed = report.opened, report.closed
    held = "" if report.note_verified else " (DOES NOT MATCH the recorded hash)"
    came = _NO_END if closed is None else closed.outcome
    if closed and closed.latency_us:  # nothing is known about one that was cut
        came = f"{came}, status {closed.status}, {closed.latency_us / 1e6:.2f} s"
    rows = [
        ("served", f"{report.run_id}, session {opened.session}, from {report.marker}"),
        ("treatment", f"{opened.treatment}{'' if report.was_seen else ': nothing was put in'}{held}"),
        ("task type", opened.task_type or "not looked up"),
        ("search arm", f"{opened.arm}, chosen with probability {opened.probability:.3f}" if opened.arm else "none"),
        (
            "nearest memory",
            f"cosine {opened.nearest:.3f}, needed {opened.floor:.3f}" if opened.task_type else "none asked",
        ),
        *((f"memory {each.memory_id}", f"{each.outcome} from {each.origin}") for each in report.memories),
        ("outcome", f"{came}: {closed.problem}" if closed and closed.problem else came),
        *((f"feedback {said.metric}", _said(said)) for said in report.feedback),
        *((name, text) for name, text in (("question", opened.question), ("reply", closed and closed.reply)) if text),
    ]
    return TextTable(f"Inference {opened.inference}", ("fact", "value"), rows)


def _said(said: FeedbackGiven) -> str:
    value = said.text or f"{said.value_micro / 1e6:g}"
    return f"{value}, which proposes nothing: {said.unused}" if said.unused else value


def _texts(number: int, move: MoveReport) -> list[str]:
    from mage_es.engine.seams.model import Request
    from mage_es.engine.viewing.transcript import CallReport, SearchReport, ToolReport, TrimReport

    mismatch = "" if getattr(move, "verified", True) else " (DOES NOT MATCH the recorded hash)"
    if mismatch and quotes_erased(getattr(move, "prompt", "")):
        mismatch = " (cannot be compared with the recorded hash: what is erased was in it)"
    match move:
        case CallReport():
            sources = ", ".join(f"{source.source} at {source.offset}" for source in move.sources)
            messages = Request(prompt=move.prompt, turns=move.turns).messages
            said = [f"{role}:\n{text}" for role, text in zip(cycle(("User", "Assistant")), messages, strict=False)]
            quoted = [f"Quoted in it: {sources}."] if sources else []
            return [
                f"{number}. Prompt of {move.agent} ({move.tier} tier) about {move.about}{mismatch}:",
                *([f"System:\n{move.system}"] if move.system else []),
                *said,
                *quoted,
                f"Reply{f' of {move.served_by}' if move.served_by else ''}:\n{move.reply or '(none recorded)'}",
            ]
        case TrimReport():
            what = f"The prompt about {move.about} did not fit{mismatch}: {move.problem}"
            return [f"{number}. {what}. Left out: {move.memory_id}."]
        case ToolReport():
            outcome = f"Problem: {move.problem}" if move.problem else f"Result: {move.result}"
            return [f"{number}. Tool {move.name} ({move.tool_id}):\nArguments: {move.arguments}\n{outcome}"]
        case SearchReport():
            problem = f"\nProblem: {move.problem}" if move.problem else ""
            found = f"{'Found' if move.is_there else 'Not found; similar'}: {', '.join(move.titles) or 'nothing'}"
            return [f"{number}. Search in {move.search} for: {move.query}\n{found}{problem}"]
    return [
        f"{number}. Step {move.step}: {move.action}\n{move.observation}"
        if move.action
        else f"{number}. {move.observation}"
    ]


def _fields(document: dict[str, object], indent: str = "") -> Iterator[str]:
    """Yield the fields of a record line by line; a text of several lines goes below its name."""
    for name, value in document.items():
        if isinstance(value, dict):
            yield f"{indent}{name}"
            yield from _fields(value, indent + "  ")
        elif isinstance(value, list | tuple) and value:
            yield f"{indent}{name}"
            for item in value:
                inner = " ".join(f"{key}={of}" for key, of in item.items()) if isinstance(item, dict) else str(item)
                yield f"{indent}  - {inner}"
        elif isinstance(value, str) and "\n" in value:
            yield f"{indent}{name}"
            yield from (f"{indent}  | {line}" for line in value.splitlines())
        else:
            yield f"{indent}{name:<16} {'-' if value in ('', ()) else value}"
