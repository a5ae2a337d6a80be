"""`mage-es what-if`: what a run's answers would have been without memories, with one arm, or with another guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.paying import ASKING, YesOption, agrees_to, calls_made
from mage_es.cli.session import repeatable
from mage_es.cli.settings import Settings, as_option
from mage_es.cli.tables import ID_DIGITS, mark_of

if TYPE_CHECKING:
    from mage_es.engine.histories.rules.what_if import WhatIfEstimate
    from mage_es.engine.histories.what_if import WhatIfAnswers, WhatIfGate, WhatIfGuard, WhatIfReport, WhatIfVerdict

EXAMPLES = examples(
    "mage-es what-if RUN --guard paper", "mage-es what-if RUN --arm cot", "mage-es what-if RUN --without 5c0f0e8a --yes"
)
_JUDGES = ("guard", "guard_drop", "guard_p", "catastrophic_drop", "catastrophic_p", "gate", "gate_p")
_SHOWN = 4


@takes(*_JUDGES, *ASKING)
def what_if(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    without: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A memory that no prompt would have shown; may be repeated.")
    ] = None,
    arm: Annotated[
        str, typer.Option(metavar="ARM", help="An arm, such as cot, as if the bandit had always drawn it.")
    ] = "",
    yes: YesOption = False,
) -> None:
    """Say what would have been without some memories, with one arm always, or with another guard or gate.

    Everything else stays the same, including what the run had learned by each moment. Anything that no prompt depends
    on is recomputed exactly; an arm, or a memory that --coin sometimes left out, is estimated from the recorded
    chances. Only asking again without a memory costs calls, and its price is printed first. Settings of guard or gate
    that you omit are the run's own.
    """
    from mage_es.engine.histories.what_if import what_if as compute
    from mage_es.engine.run.runtime import Runtime

    found = settings.find_run(run)
    changes: dict[str, Any] = {name: value for name, value in settings.flags().items() if name in _JUDGES}
    asked: dict[str, Any] = {"without": without or (), "arm": arm, "data_dir": settings.data_dir, **changes}
    report = compute(found, **asked, runtime=Runtime(prices=settings.prices()))
    if report.left is None:
        out.say("Computed from the record: no model is called.")
    elif agrees_to(report.left, out, settings, yes=yes):
        with repeatable(out, settings) as runtime:
            report = compute(found, **asked, reask=True, runtime=runtime)
    out.report(report, *_parts(report))
    out.next(*_ahead(report, settings))


def _parts(report: WhatIfReport) -> list[TextTable | str]:
    if report.guard:
        return _of_guard(report, report.guard)
    if report.gate:
        return _of_gate(report, report.gate)
    assert report.answers is not None
    return _of_answers(report, report.answers)


def _ahead(report: WhatIfReport, settings: Settings) -> list[str]:
    if report.guard and report.guard.differs is not None:
        before = mark_of(max(-1, report.guard.differs - 1))
        changes = [word for name, value in report.settings.items() for word in as_option(name, value)]
        return [settings.again("evolve", "--from", report.run_id, "--at", before, *changes, names=("runs_dir",))]
    if report.left and report.left.questions:
        names = [word for name in report.without for word in ("--without", name[:ID_DIGITS])]
        return [settings.again("what-if", report.run_id, *names, "--yes", names=("runs_dir", "data_dir"))]
    if report.without:
        return [settings.again("memory", "show", report.without[0][:ID_DIGITS], report.run_id, names=("runs_dir",))]
    return [settings.again("runs", "show", report.run_id, names=("runs_dir",))]


# ------------------------------------------------------------ answers


def _of_answers(report: WhatIfReport, found: WhatIfAnswers) -> list[TextTable | str]:
    from mage_es.engine.worth.effect import too_few

    what = f"always {report.arm}" if report.arm else f"without {_named([each[:ID_DIGITS] for each in report.without])}"
    rows = [("as recorded", str(found.answers), f"{100 * found.right / found.answers:.1f} %", "", "")]
    if found.share is not None and found.points is not None:
        few = too_few(found.again) if found.again else ""
        interval = few if found.low is None else f"{found.low:+.1f} to {found.high:+.1f}"
        rows.append((what, str(found.answers), f"{found.share:.1f} %", f"{found.points:+.1f}", interval))
    else:
        bounds = f"{found.least_share:.1f} to {found.most_share:.1f} %"
        rows.append((what, str(found.answers), bounds, "not known", ""))
    table = TextTable(
        f"Answers of {report.run_id} to questions that it learned from",
        ("", "answers", "right", "points", "95 %"),
        rows,
    )
    return [table, _made_of(report, found), *_notes(report, found)]


def _made_of(report: WhatIfReport, found: WhatIfAnswers) -> str:
    """Return how much of the number is exact, asked again, estimated and unknown."""
    same = "the arm was no alternative" if report.arm else "the prompt did not show it"
    parts = [f"{found.exact} exactly as recorded, since {same}"] if found.exact else []
    parts += [f"{found.again} asked again, {found.again_right} of them right"] if found.again else []
    parts += [f"{found.estimated} estimated"] if found.estimated else []
    parts += [f"{found.open} not known"] if found.open else []
    return f"Of {found.answers} answers: {'; '.join(parts)}."


def _notes(report: WhatIfReport, found: WhatIfAnswers) -> list[str]:
    notes = [_estimated(report, found.estimate)] if found.estimate else []
    if found.open:
        notes.append("The two shares are what it is if all that is not known had been wrong, or right.")
    if report.made:
        notes.append(f"{calls_made(report.made)}.")
    notes.append("Each question is as it was asked then: what other answers would have taught the run is left out.")
    if report.temperature and (found.again or report.left):
        notes.append(f"The temperature is {report.temperature:g}: part of each difference is chance in the replies.")
    return notes


def _estimated(report: WhatIfReport, estimate: WhatIfEstimate) -> str:
    fell = f"drew {report.arm}" if report.arm else "left it out"
    counted = f"{estimate.taken} prompts that {fell}, worth as much as {estimate.effective:.0f} answers of equal weight"
    if estimate.share is None:
        return f"There is no estimate for {estimate.of}: it would rest on {counted}, and needs {estimate.least}."
    interval = f"95 % {estimate.low:.1f} to {estimate.high:.1f}"
    text = f"Of the {estimate.of} estimated ones {estimate.share:.1f} % are right ({interval}), by {counted}."
    if estimate.robust is not None:
        interval = f"95 % {estimate.robust_low:.1f} to {estimate.robust_high:.1f}"
        text += f" Doubly robust, by what the bandit expected of {report.arm}: {estimate.robust:.1f} % ({interval})."
    return text


# ------------------------------------------------------------ guard and gate


def _of_guard(report: WhatIfReport, found: WhatIfGuard) -> list[TextTable | str]:
    columns = ("iteration", "recorded", _changed(report), "points", "against", "p")
    of = "last recorded answers to anchors" if found.of == "anchors" else found.of
    title = f"The guard of {report.run_id}: {of} right, in points, against an earlier iteration"
    table = TextTable(title, columns, [_verdict(each) for each in found.verdicts], keys=1)
    return [table, _answered(report, found)]


def _verdict(each: WhatIfVerdict) -> tuple[str, ...]:
    return (
        mark_of(each.iteration),
        _ruled(each.recorded, each.restored),
        _ruled(each.verdict, each.restores),
        *(
            ("-", "-", "-")
            if each.against == each.iteration
            else (f"{0.0 - 100 * each.drop:+.1f}", mark_of(each.against), f"{each.p_value:.2g}")
        ),
    )


def _ruled(verdict: str, restored: int | None) -> str:
    words = "kept" if verdict == "off" else verdict.replace("_", " ")
    return words if restored is None else f"{words} to {mark_of(restored)}"


def _answered(report: WhatIfReport, found: WhatIfGuard) -> str:
    answered, all_of_them = len(found.verdicts), f"{found.snapshots} snapshots"
    if found.differs is not None:
        did, last = {True: "rolled back", False: "kept"}, found.verdicts[-1]
        before = f"Before {mark_of(found.differs)} nothing would have been different. " if answered > 1 else ""
        return (
            f"{before}{mark_of(found.differs)} was {did[last.restored is not None]} and would have been "
            f"{did[last.restores is not None]}: {found.ends}. So the record answers {answered} of {all_of_them}."
        )
    if found.ends:
        return f"The record answers {answered} of {all_of_them}, with no other consequence: {found.ends}."
    return f"None of {all_of_them} would have had another consequence: the run would have asked and learned the same."


def _changed(report: WhatIfReport) -> str:
    return ", ".join(f"{name} {value}" for name, value in report.settings.items())


def _of_gate(report: WhatIfReport, found: WhatIfGate) -> list[TextTable | str]:
    rows = [
        (
            mark_of(each.iteration),
            f"{each.recorded} of {each.pairs}",
            f"{each.right} of {each.pairs}",
            _named(each.learned),
            _named(each.bare),
        )
        for each in found.snapshots
    ]
    columns = ("iteration", "anchors right", _changed(report), "what was learned instead", "bare instead")
    changed = [each for each in found.snapshots if each.learned or each.bare]
    text = f"The same would have been served after each of {len(found.snapshots)} snapshots."
    if changed:
        text = (
            f"Something else would have been served after {len(changed)} of {len(found.snapshots)} snapshots, first "
            f"after {mark_of(changed[0].iteration)}. Exams and clients would have seen that; what the run asked and "
            "learned does not depend on its gate."
        )
    more = f" {found.ends[0].upper()}{found.ends[1:]}." if found.ends else ""
    return [
        TextTable(f"What {report.run_id} serves, by the last recorded answers to its anchors", columns, rows),
        text + more,
    ]


def _named(names: Sequence[str]) -> str:
    if not names:
        return "-"
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
