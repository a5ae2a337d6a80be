"""`mage-es rejudge`: judge recorded answers again, by a model or another scorer, and compare with the verdicts on
record."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable, percent, shortened
from mage_es.cli.paying import ASKING, YesOption, calls_made, judging, pay
from mage_es.cli.session import repeatable
from mage_es.cli.settings import Settings
from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from mage_es.engine.histories.rejudge import RejudgedAnswer, RejudgeReport

EXAMPLES = examples(
    "mage-es rejudge RUN --judge anthropic/claude-haiku-4-5 --max-usd 1",
    "mage-es rejudge RUN --judge 'openai/MODEL?base_url=http://localhost:8000/v1' --exam 2 --yes",
    "mage-es rejudge RUN --scorer contains",
)
SHOWN = 8
"""How many answers to list on which both differ; `--json` has all."""


@takes(*ASKING)
def rejudge(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    judge: Annotated[str, typer.Option(metavar="MODEL", help="Model that says whether each answer is right.")] = "",
    scorer: Annotated[
        str, typer.Option(metavar="SCORER", help="Another scorer of your own tasks: a name, or MODULE:FUNCTION.")
    ] = "",
    exam: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of the exam. [default: the newest without a control]")
    ] = None,
    yes: YesOption = False,
) -> None:
    """Judge recorded answers again, by a model or another scorer: what would be right, and how far both agree.

    The answers are an exam's or, if none was taken, those to the questions that the run learned from. The verdicts on
    record stay. Only a model costs calls. The price is printed first: nothing is spent without `--yes`, a limit, or a
    yes at the terminal. Its opinions are recorded, and paid for once. If your scorer's code changed, `mage-es exam
    --rejudge` is what you need.
    """
    from mage_es.engine.histories.rejudge import rejudge as judge_anew
    from mage_es.engine.histories.rejudge import rejudge_price
    from mage_es.engine.models.registry import open_model

    if bool(judge) == bool(scorer):
        raise UsageError("Say who judges: either --judge MODEL or --scorer SCORER.")
    found, model = settings.find_run(run), open_model(judge, "judge") if judge else None
    if model:
        price = rejudge_price(found, judge=model, exam=exam, data_dir=settings.data_dir, prices=settings.prices())
        pay(price, judging(price), out, settings, yes=yes, tier="judge")
    with repeatable(out, settings) as runtime:
        report = judge_anew(
            found, judge=model, scorer=scorer or None, exam=exam, data_dir=settings.data_dir, runtime=runtime
        )
    if not model:
        out.say("Computed from the record: no model is called.")
    out.report(report, table(report), _agreed(report), *_differing(report))
    where = ("--exam", str(int(report.exam.partition("-")[0]))) if report.exam else ()
    name = next((each.question_id for each in report.answers if each.now != each.right), report.answers[0].question_id)
    out.next(settings.again("show", name, report.run_id, *where, names=("runs_dir",)))


def table(report: RejudgeReport) -> TextTable:
    by_type: dict[str, list[RejudgedAnswer]] = defaultdict(list)
    for each in report.answers:
        by_type[each.task_type].append(each)
    rows = [
        (
            name,
            str(len(found)),
            str(sum(bool(each.right) for each in found)),
            str(sum(each.now for each in found)),
            str(sum(bool(each.right) and each.now for each in found)),
        )
        for name, found in sorted(by_type.items())
    ]
    of = f"in exam {report.exam}" if report.exam else "to its questions"
    return TextTable(
        f"Answers of {report.run_id} {of}, judged anew by {report.by}",
        ("task type", "answers", "right on record", "right now", "right in both"),
        rows,
    )


def _agreed(report: RejudgeReport) -> str:
    """Return what accuracy would have been, and how far both agree."""
    found, total = report.agreement, report.total
    # If both give every answer the same verdict, chance alone would agree as often.
    says_nothing = found.predictions in (found.both, found.neither)
    kappa = "" if says_nothing else f", Cohen's kappa {found.kappa:.2f}"
    text = (
        f"{report.now} of {total} would be right ({percent(report.now, total)}), on record are {report.right} "
        f"({percent(report.right, total)}). Both agree on {found.both + found.neither} of {found.predictions} answers "
        f"({found.agreement:.1f} %{kappa})"
    )
    if found.rule_only or found.judge_only:
        text += f": {found.rule_only} are right on record only, {found.judge_only} by {report.by} only"
    more = (
        (report.undecided, "undecided on record, which agree with nothing"),
        (report.lost, "without an answer, which is wrong in both"),
        (report.unseen, "cut, refused or empty, which is wrong in both, and no judge saw"),
        (report.erased, "erased, and not among them"),
        (found.unreadable, "without a readable opinion, which counts as wrong"),
        (found.unanswered, "without an opinion, since the call failed, which counts as wrong"),
    )
    parts = [text, "; ".join(f"{count} {what}" for count, what in more if count)]
    parts += [calls_made(report.made)] if report.made else []
    return " ".join(f"{part}." for part in parts if part)


def _differing(report: RejudgeReport) -> list[TextTable | str]:
    differing = [each for each in report.answers if each.now != bool(each.right)]
    if not differing:
        return []
    rows = [
        (each.question_id, shortened(each.answer), _word(each.right), _word(each.now)) for each in differing[:SHOWN]
    ]
    title = f"Where they differ, {len(rows)} of {len(differing)}" if len(differing) > SHOWN else "Where they differ"
    return [TextTable(title, ("question", "answer", "on record", "now"), rows, keys=2)]


def _word(right: bool | None) -> str:
    return "undecided" if right is None else "right" if right else "wrong"
