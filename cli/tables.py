"""The reports of the engine as tables: one function for each kind of report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mage_es.cli.output import Table, percent

if TYPE_CHECKING:
    from mage_es.engine.moves import BundleMember, QuestionReport
    from mage_es.engine.reports import (
        BaselineReport,
        Check,
        EpisodeRow,
        ExamReport,
        GroupScore,
        IterationCheck,
        IterationRow,
        LedgerRow,
        Noticing,
        ReplayReport,
        RunSummary,
        Unguided,
        Waiting,
    )

DIGEST_DIGITS = 16
"""Digits of a digest that are shown; the whole is in `--json`."""


def overview(summary: RunSummary) -> str:
    """Return a run's facts in a few lines."""
    lines = [
        f"Run {summary.run_id}: {summary.benchmark}, seed {summary.seed}, {summary.state}",
        f"  {_done(summary)}, {summary.events} events in {summary.path}",
        f"  execution {summary.execution}{f', guidance {summary.guidance}' if summary.guidance else ''}",
        f"  head {summary.head[:DIGEST_DIGITS]}",
    ]
    lines += [f"  {model}: {told or 'price unknown'}" for model, told in summary.prices.items()]
    lines += [f"  {model}: {_served(names)}" for model, names in summary.served.items()]
    if unanswered := sum(row.unanswered for row in summary.rows):
        shown = _counted(unanswered, "question")
        lines.append(f"  {shown} unanswered, because a call failed for good: neither right nor wrong")
    if summary.quarantined:
        shown = _counted(summary.quarantined, "thing")
        lines.append(f"  {shown} that it learned in quarantine: mage-es memory list --status quarantined")
    if summary.unguided:
        lines.append(f"  {_unguided(summary.unguided)}")
    lines += [f"  {told}" for told in summary.shortfalls]
    if summary.judge:
        lines.append(f"  judge {summary.judge}, asked {summary.judge_calls} times")
    if summary.waiting:
        lines.append(f"  {_waiting(summary.waiting, summary.iterations)}")
    if summary.noticing:
        lines.append(f"  {_noticing(summary.noticing)}")
    return "\n".join([*lines, f"  {summary.problem}"] if summary.problem else lines)


def _unguided(lost: Unguided) -> str:
    """Return how much of what the guidance tier was asked for it never gave, and why."""
    failures = sum(lost.failed.values())
    kinds = ", ".join(f"{fault.replace('_', ' ')} {count}" for fault, count in lost.failed.items())
    why = [f"{lost.unreadable} because no reply could be read"] if lost.unreadable else []
    why += [f"{failures} because the call failed ({kinds})"] if failures else []
    return f"WARNING: guidance gave nothing {lost.unreadable + failures} of {lost.asked} times: {', '.join(why)}"


def _served(names: Mapping[str, int]) -> str:
    """Return who answered for a model, and whether that changed on the way."""
    told = ", ".join(f"{name} ({_counted(calls, 'call')})" for name, calls in names.items())
    return f"MORE THAN ONE MODEL answered: {told}" if len(names) > 1 else f"answered by {told}"


def _done(summary: RunSummary) -> str:
    """Return how far a run is, or what a baseline came to."""
    if summary.baseline:
        right, total = summary.answered
        came_to = f"{_result(summary)} ({right}/{total} right)" if total else "nothing is answered yet"
        return f"baseline {summary.baseline}: {came_to}"
    return f"{summary.iterations_done} of {summary.iterations} iterations"


def _waiting(waiting: Waiting, iterations: int) -> str:
    """Return the effective coverage bound in words, VACUOUS where no wait in this run could exceed it."""
    shown = f"a task type waited at most {_iterations(waiting.longest)} for EVOLVE"
    if waiting.bound is None:
        return f"{shown}; nothing bounds that (recency_weight 0)"
    made_of = f"n_fail up to {waiting.largest}, {waiting.task_types} types, {waiting.targets} a time"
    vacuous = f": VACUOUS in a run of {iterations}" if waiting.bound >= iterations else ""
    return f"{shown}, and can wait {_iterations(waiting.bound)}\n    ({made_of}){vacuous}"


def _noticing(noticing: Noticing) -> str:
    """Return the smallest drop that the guard can notice in words; with too few questions there is none."""
    of = f"of {noticing.questions} {'anchors' if noticing.guard == 'paired' else 'fresh questions'}"
    if noticing.smallest_drop >= 1.0:
        return f"guard {noticing.guard}: too few questions to notice any drop ({of[3:]})"
    return f"guard {noticing.guard}: the smallest drop it can notice is {100 * noticing.smallest_drop:.1f} points {of}"


def _iterations(count: int) -> str:
    return _counted(count, "iteration")


def _counted(count: int, noun: str) -> str:
    """Return `1 memory` or `2 memories`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def iterations(summary: RunSummary) -> Table:
    """Return accuracy (of episodes the mean score), guard, memories and calls of each iteration."""
    questions = ("iteration", "fresh", "correct", "revisits", "anchors", "guard")
    sizes = ("successes", "failures", "principles", "calls", "guidance")
    return Table(
        f"{summary.measure.capitalize()} per iteration", (*questions, *sizes), [_iteration(row) for row in summary.rows]
    )


def agents(title: str, *summaries: RunSummary) -> Table:
    """Return what each of the six agents did, in one run or in several side by side: a row for each kind of thing."""
    rows = []
    for cells in zip(*(summary.agents for summary in summaries), strict=True):
        counts = [{"calls": cell.calls, **cell.left} for cell in cells]
        done = list(dict.fromkeys(what for found in counts for what, count in found.items() if count))
        for what in done or ["nothing to do"]:
            name = ("", "") if what in done[1:] else (cells[0].agent, cells[0].tier)
            rows.append((*name, what, *(str(found.get(what) or "-") for found in counts)))
    return Table(title, ("agent", "tier", "what", *(_benchmark(summary.benchmark) for summary in summaries)), rows)


def actions(summary: RunSummary) -> Table:
    """Return what EVOLVE's actions authored, and how often each came to what."""
    rows = [
        (
            row.action.replace("_", " "),
            str(row.taken),
            str(row.authored),
            ", ".join(f"{outcome} ({count})" for outcome, count in row.outcomes.items()),
        )
        for row in summary.actions
    ]
    return Table("What EVOLVE wrote", ("action", "targets", "authored", "outcomes"), rows)


def frontier(summary: RunSummary) -> Table:
    """Return the latest plan's frontier, in its order, with the Navigator's briefs."""
    rows = [(skill.skill, f"{skill.mastery:.2f}", skill.brief) for skill in summary.frontier]
    return Table("What the latest plan set out to explore", ("skill", "mastery", "brief"), rows)


def ledger(summary: RunSummary) -> Table:
    """Return calls, tokens, seconds and dollars by tier, agent and purpose, and of each tier; JSON has iterations.

    `hits` is the share of the input tokens that the provider had cached, - where it told of none.
    """
    groups: dict[tuple[str, str, str], list[LedgerRow]] = {}
    for row in summary.ledger:
        purpose = f"{row.purpose}, in batches" if row.batched else row.purpose
        groups.setdefault((row.tier, row.agent, purpose), []).append(row)
        groups.setdefault((row.tier, "all", ""), []).append(row)
    who, counts = ("tier", "agent", "purpose"), ("calls", "failed", "retried")
    tokens = ("input", "cached", "hits", "output", "thinking", "written")
    rows = [
        (*name, *_used(groups[name])) for name in sorted(groups, key=lambda name: (name[0], name[1] == "all", name))
    ]
    return Table("Calls, tokens, seconds and dollars", (*who, *counts, *tokens, "seconds", "dollars"), rows)


def _used(rows: list[LedgerRow]) -> tuple[str, ...]:
    counted = ("calls", "failures", "retries", "input_tokens", "cached_tokens")
    counts = [sum(getattr(row, name) for row in rows) for name in counted]
    tokens = ("output_tokens", "thinking_tokens", "cache_write_tokens")
    sums = [sum(getattr(row, name) for row in rows) for name in tokens]
    # A provider that tells nothing of its cache cannot be told from one that never had anything cached.
    hits = f"{counts[-1] / counts[-2]:.0%}" if counts[-1] else "-"
    known = [row.usd for row in rows if row.usd is not None]
    dollars = f"{sum(known):.4f}" if len(known) == len(rows) else "unpriced"
    return (*map(str, counts), hits, *map(str, sums), f"{sum(row.seconds for row in rows):.1f}", dollars)


def _iteration(row: IterationRow) -> tuple[str, ...]:
    return (
        "start" if row.iteration < 0 else str(row.iteration),
        _level(row.fresh_score, row.fresh_correct, row.fresh_total),
        _share(row.fresh_correct, row.fresh_total),
        _share(row.revisit_correct, row.revisit_total),
        _level(row.anchor_score, row.anchor_correct, row.anchor_total),
        row.guard or "-",
        str(row.success_memories),
        str(row.failure_memories),
        str(row.principles),
        str(row.execution_calls),
        str(row.guidance_calls),
    )


def _level(mean_score: float | None, right: int, total: int) -> str:
    """Return a mean score in percent where there is one, else the share of right answers."""
    return percent(right, total) if mean_score is None else f"{100 * mean_score:.1f} %"


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole}" if whole else "-"


def baseline_table(report: BaselineReport) -> Table:
    """Return what a baseline came to."""
    share, embedder = _share_of(report.episodes), ("embedder",) if report.embedder_calls else ()
    calls = ("calls", "judge", "guidance", *embedder)
    columns = ("baseline", "benchmark", "questions", share, "correct", "unanswered", *calls)
    cells = (
        report.baseline,
        _benchmark(report.benchmark),
        str(report.total),
        percent(report.correct, report.total),
        f"{report.correct}/{report.total}",
        str(report.unanswered),
        str(report.execution_calls),
        str(report.judge_calls),
        str(report.guidance_calls),
        *(str(report.embedder_calls) for _ in embedder),
    )
    return Table(f"Run {report.run_id}", columns, [cells])


def episodes(rows: tuple[EpisodeRow, ...]) -> list[Table]:
    """Return how the episodes of each purpose went, with the share of replies that named no action; [] without any."""
    columns = ("episodes", "played", "mean score", "steps", "no action", "share")
    lines = [
        (
            row.purpose,
            str(row.episodes),
            f"{row.mean_score:.3f}",
            str(row.steps),
            str(row.unparsed),
            percent(row.unparsed, row.steps),
        )
        for row in rows
    ]
    return [Table("Episodes", columns, lines)] if lines else []


def runs(summaries: list[RunSummary]) -> Table:
    """Return one line for each run, the newest first."""
    columns = ("run", "benchmark", "seed", "iterations", "latest result", "events", "state")
    return Table("", columns, [_run(summary) for summary in summaries])


def _benchmark(name: str) -> str:
    """Return what a benchmark is called in a table, where the whole name of own tasks would fill the line."""
    from mage_es.engine.benchmarks.registry import title

    return title(name)


def _run(summary: RunSummary) -> tuple[str, ...]:
    if summary.state == "damaged":
        return (summary.run_id, summary.benchmark or "-", "-", "-", "-", "-", f"damaged: {summary.problem}")
    done = summary.baseline or f"{summary.iterations_done} of {summary.iterations}"
    return (
        summary.run_id,
        _benchmark(summary.benchmark),
        str(summary.seed),
        done,
        _result(summary),
        str(summary.events),
        summary.state,
    )


def _result(summary: RunSummary) -> str:
    """Return what a run's latest fresh questions came to, or a baseline's held-out ones, by the measure that counts."""
    asked = [row for row in summary.rows if row.fresh_total]
    if summary.baseline:
        means = [row.mean_score for row in summary.episodes]
        level = _level(means[0] if means else None, *summary.answered)
    else:
        level = _level(asked[-1].fresh_score, asked[-1].fresh_correct, asked[-1].fresh_total) if asked else "-"
    return f"{summary.measure} {level}" if level != "-" else level


def exam(report: ExamReport) -> Table:
    """Return an exam: all questions, by familiarity of the phrasing, by task type."""
    from mage_es.engine.reports import GroupScore

    groups = [GroupScore(name="all", correct=report.correct, total=report.total)]
    groups += [group for group in (report.familiar, report.unfamiliar) if group is not None]
    title = f"Exam at {report.marker}" + (f", control {report.control}" if report.control != "none" else "")
    return scores(title, [*groups, *report.task_types], share=_share_of(report.episodes))


def _share_of(episodes: tuple[EpisodeRow, ...]) -> str:
    """Return what a share of right answers is called: of episodes it says less than their mean score."""
    return "succeeded" if episodes else "accuracy"


def scores(title: str, groups: list[GroupScore], *, share: str = "accuracy") -> Table:
    """Return the share of right answers in groups of questions."""
    rows = [(group.name, percent(group.correct, group.total), _share(group.correct, group.total)) for group in groups]
    return Table(title, ("questions", share, "correct"), rows)


def digests(report: ReplayReport) -> Table:
    """Return each projection's digest as recorded live and as rebuilt."""
    words = {True: "yes", False: "NO", None: "not recorded"}
    rows = [
        (check.projection, check.recorded[:DIGEST_DIGITS] or "none", check.rebuilt[:DIGEST_DIGITS], words[check.equal])
        for check in report.checks
    ]
    return Table(f"Digests at {report.marker}", ("projection", "recorded", "rebuilt", "equal"), rows)


def rechecked(checks: list[IterationCheck]) -> Table:
    """Return each closed iteration's comparison; the last row tells what differs, if anything does."""
    rows = [
        (
            "start" if check.iteration < 0 else f"iter-{check.iteration}",
            "yes" if check.equal else "NO",
            "" if check.equal else f"{check.projection}: recorded {check.recorded}, rebuilt {check.rebuilt}",
            check.field,
        )
        for check in checks
    ]
    return Table("Every iteration folded again", ("iteration", "equal", "first difference", "field"), rows)


def checks(title: str, found: tuple[Check, ...]) -> Table:
    """Return what was verified, with the margin of each check and the first event that breaks it."""
    rows = [
        (
            check.name,
            "ok" if check.ok else "FAILED",
            check.measured,
            check.bound,
            str(check.seq) if check.seq else "",
            check.detail,
        )
        for check in found
    ]
    return Table(title, ("check", "result", "measured", "allowed", "breaks at event", "detail"), rows)


def bundle(members: tuple[BundleMember, ...]) -> Table | str:
    """Return the memories that stood in a prompt and where they came from; their texts are in the prompt."""
    if not members:
        return "Bundle: none of the run's memories"
    rows = [(member.memory_id, member.outcome, f"{member.similarity:.3f}", member.origin) for member in members]
    return Table(f"Bundle: {len(rows)} of the run's memories", ("memory", "kind", "similarity", "from"), rows)


def replayed(report: ReplayReport) -> str:
    """Return what a replay did in two lines."""
    sizes = memory_sizes(report.success_memories, report.failure_memories, report.principles)
    return (
        f"{report.events} events up to seq {report.seq} in {report.seconds:.2f} s, without a model: {sizes}.\n"
        f"Rebuilt in {report.path}"
    )


def memory_sizes(successes: int, failures: int, principles: int) -> str:
    """Return the size of each memory as words."""
    return ", ".join(
        (_counted(successes, "success memory"), _counted(failures, "failure memory"), _counted(principles, "principle"))
    )


def examined(report: ExamReport) -> str:
    """Return what an exam cost."""
    judge = f", {report.judge_calls} judge calls" if report.judge_calls else ""
    embedder = f", {report.embedder_calls} embedder calls" if report.embedder_calls else ""
    undecided = f"; {report.undecided} undecided, counted as wrong" if report.undecided else ""
    undecided += f"; {report.unanswered} unanswered, counted neither way" if report.unanswered else ""
    return (
        f"{report.execution_calls} execution calls, {report.guidance_calls} guidance calls{judge}{embedder}, "
        f"{report.seconds:.1f} s; task types from {report.task_type_source}{undecided}"
    )


def asked(report: QuestionReport) -> Table:
    """Return the facts of a question that was asked."""
    verdict = {True: "correct", False: "wrong", None: "not judged"}[report.correct]
    if report.unanswered:
        verdict = f"unanswered ({report.unanswered})"
    when = f"iteration {report.iteration}, " if report.iteration >= 0 else ""
    rows = [
        ("asked", f"{report.run_id}, {when}seq {report.seq}, as {report.purpose}"),
        ("task type", report.task_type),
        ("skill", report.skill),
        ("search arm", f"{report.search_arm}, chosen with probability {report.search_probability:.3f}"),
        ("routing arm", f"{report.routing_arm}, chosen with probability {report.routing_probability:.3f}"),
        ("answer", f"{report.answer or 'none found'}, expected {report.expected}"),
        ("verdict", verdict if report.judge in ("", "rule") else f"{verdict}, decided by {report.judge}"),
    ]
    return Table(f"Question {report.question_id}", ("fact", "value"), rows)
