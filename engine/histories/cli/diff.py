"""`mage-es diff`: what changed between two moments of a run, or between two runs; or between two logs of Inspect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output, TextTable, counted, shortened
from mage_es.cli.settings import Settings
from mage_es.cli.tables import ID_DIGITS
from mage_es.engine.config import MOST
from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from mage_es.engine.histories.diff import AnswersDiff, DiffReport
    from mage_es.engine.histories.inspect_diff import InspectDiff
    from mage_es.engine.worth.memories import MemoryItem

SHOWN = 8
"""Rows in each table; `--json` has more."""
EXAMPLES = examples(
    "mage-es diff RUN",
    "mage-es diff RUN@iter-3 RUN@iter-9",
    "mage-es diff RUN OTHER --question wordmath-test-4",
    "mage-es diff before.eval after.eval",
)


@takes("runs_dir")
def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="[RUN[@MARKER]]",
            help="The earlier side; if it is the only one, its start is compared with its end.",
        ),
    ] = "",
    after: Annotated[
        str, typer.Argument(metavar="[RUN[@MARKER]]", help="The later side. [default: the same run, latest]")
    ] = "",
    *,
    settings: Settings,
    out: Output,
    question: Annotated[
        str, typer.Option(metavar="ID", help="Also the prompts that both sides have for this question.")
    ] = "",
    top: Annotated[
        int, typer.Option(min=1, max=MOST, help="How many learned items --json lists for each fate, kind and type.")
    ] = 100,
) -> None:
    """Print what changed between two moments or two runs: settings, what was learned, answers to the same questions.

    A moment is a run with a marker: RUN@start, RUN@iter-9, RUN@seq:1234; @iter-9 is one of the newest run. Everything
    is computed from the logs, without a model. Two logs of Inspect (.eval) are compared by the samples that both have.
    """
    if ".eval" in (Path(before).suffix, Path(after).suffix):
        _inspected(out, before, after, question)
        return
    from mage_es.engine.histories.diff import diff as compare
    from mage_es.engine.run.directory import moment_of

    run, marker = moment_of(before if "@" in before or after else f"{before}@start", settings.runs_dir)
    other, until = moment_of(after, settings.runs_dir) if after else (run, "latest")
    settings.find_run(str(other.path))  # which may be elsewhere
    report = compare(run, other, at=(marker, until), question=question, top=top)
    out.report(report, *parts(report))
    changed = [name for each in report.answers for name in (*each.lost, *each.won)]
    asked = [question] if question in changed else changed[:1]  # whether others were asked, the report does not tell
    ahead = [("memory", "list", other.id), *(("show", name, other.id) for name in asked)]
    out.next(*(settings.again(*words) for words in ahead))


def _inspected(out: Output, before: str, after: str, question: str) -> None:
    from mage_es.engine.histories.inspect_diff import diff_inspect

    if question or {Path(before).suffix, Path(after).suffix} != {".eval"}:
        raise UsageError("A log of Inspect is compared with another one, by its samples: mage-es diff A.eval B.eval")
    report = diff_inspect(Path(before), Path(after))
    out.report(report, *_sampled(report))


def _sampled(report: InspectDiff) -> list[TextTable | str]:
    apart = {
        f"only in {report.before}": report.only_before,
        f"only in {report.after}": report.only_after,
        "in both with another input": report.changed,
    }
    said = [f"{len(names)} samples are {what}: {shortened(', '.join(names))}" for what, names in apart.items() if names]
    return [f"{report.before} to {report.after}", _answers(report.answers, "The same samples", "score"), *said]


def parts(report: DiffReport) -> list[TextTable | str]:
    changed = [(each.name, each.before, each.after) for each in report.settings]
    settings = TextTable("Settings", ("setting", "before", "after"), changed)
    tables = [_answers(report.answers), _learned(report), _graph(report), _arms(report), settings]
    parts: list[TextTable | str] = [_summary(report), *(table for table in tables if table.rows)]
    parts[1 + bool(report.answers) : 1] = _unpaired(report)
    if report.question:
        parts.append("\n".join(report.prompt) or f"Both put the same prompt before {report.question}.")
    return parts


def _summary(report: DiffReport) -> str:
    fates = Counter[str]()
    for group in report.counts:
        fates[group.fate] += group.number
    new, arms, settings = sum(each.is_new for each in report.names), len(report.arms), len(report.settings)
    changes = [f"{count} learned" if fate == "new" else f"{count} {fate}" for fate, count in fates.items()]
    changes += [f"{new} new in the graph"] if new else []
    changes += [f"{counted(arms, 'arm')} moved"] if arms else []
    changes += [f"{len(report.names) - new} gone from the graph"] if len(report.names) > new else []
    changes += [f"{counted(len(report.edges), 'edge kind')} changed"] if report.edges else []
    changes += [f"{counted(settings, 'setting')} changed"] if settings else []
    answers = sum(len(each.won) + len(each.lost) for each in report.answers)
    changes += [f"{counted(answers, 'answer')} won or lost"] if answers else []
    moments = " to ".join(f"{each} (event {each.seq})" for each in (report.before, report.after))
    return f"{moments}: {', '.join(changes) or 'the same state'}"


def _unpaired(report: DiffReport) -> list[str]:
    """Return the sentence on the anchors that are not compared; none if all are."""
    both = next((each.total for each in report.answers if each.what == "anchors"), 0)
    if both == report.anchors:
        return []
    which = f"{both} of {report.anchors} anchors were" if both else f"None of {report.anchors} anchors was"
    why = "the guard had seen enough and did not ask the others" if both else "so they are not compared"
    return [f"{which} measured on both states: {why}. An exam of each state asks all of its questions."]


def _answers(found: Sequence[AnswersDiff], title: str = "The same questions", what: str = "questions") -> TextTable:
    rows = [
        (
            *(each.what, each.total, f"{each.before:g}", f"{each.after:g}", len(each.won), len(each.lost)),
            f"{100 * (each.after - each.before) / each.total:+.1f}",
            each.numbers.interval_in_words(),
            "" if each.numbers.p is None else f"{each.numbers.p:.2g}",
        )
        for each in found
    ]
    columns = (what, "both", "right before", "after", "won", "lost", "points", "95 % interval", "p")
    return TextTable(title, columns, rows)


def _learned(report: DiffReport) -> TextTable:
    first: dict[tuple[str, str, str], MemoryItem] = {}
    for each in report.learned:
        first.setdefault((each.fate, each.item.kind, each.item.task_type), each.item)
    groups = {(str(each.fate), each.kind, each.task_type): each.number for each in report.counts}
    shown = list[tuple[object, ...]]()
    # By fate, so that the many that are new do not hide the few that are out of use.
    for _, of_fate in groupby(first, key=itemgetter(0)):
        largest = sorted(of_fate, key=lambda group: -groups[group])[:SHOWN]
        for group in largest:
            item = first[group]
            shown.append((*group, groups[group], item.memory_id[:ID_DIGITS], shortened(item.text)))
    title = "What was learned" + (
        f", {len(groups) - len(shown)} more groups not shown" if len(groups) > len(shown) else ""
    )
    return TextTable(title, ("", "kind", "task type", "number", "for example", "text"), shown, keys=3)


def _graph(report: DiffReport) -> TextTable:
    names = [(each.kind, each.name, *(("no", "yes") if each.is_new else ("yes", "no"))) for each in report.names]
    edges = [("edges", each.kind, each.before, each.after) for each in report.edges]
    left = len(names) - SHOWN
    title = "Knowledge graph" + (f", {left} more names not shown" if left > 0 else "")
    return TextTable(title, ("", "name", "before", "after"), [*names[:SHOWN], *edges], keys=2)


def _arms(report: DiffReport) -> TextTable:
    rows = [
        (
            *(arm.bandit, arm.key, arm.arm, f"{arm.before:.3f}", f"{arm.after:.3f}"),
            f"{arm.pulls_before} to {arm.pulls_after}",
        )
        for arm in report.arms[:SHOWN]
    ]
    columns = ("bandit", "key", "arm", "mean before", "after", "rewards")
    return TextTable("Arms that moved most", columns, rows, keys=3)
