"""The engine's reports as tables and short texts: one function for each kind of report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mage_es.cli.output import TextTable, counted, percent
from mage_es.engine.config import SHOWN

if TYPE_CHECKING:
    from mage_es.engine.verbs.agents import MissingGuidance
    from mage_es.engine.verbs.exam_report import ExamReport, GroupScore
    from mage_es.engine.verbs.replay import ReplayReport
    from mage_es.engine.verbs.summary import EpisodeRow, ExamRow, GuardSensitivity, IterationRow, LedgerRow, RunSummary
    from mage_es.events.vocabulary import FormDecided, Paired

DIGEST_DIGITS = 16
"""How many digits of a digest to show; `--json` has all of them."""
ID_DIGITS = 12
"""The same for a memory's id; commands accept fewer, too."""


def overview(summary: RunSummary) -> str:
    return "\n  ".join(_facts(summary))


def _facts(summary: RunSummary) -> Iterator[str]:
    yield f"Run {summary.run_id}: {summary.benchmark}, seed {summary.seed}, {summary.state}"
    yield f"{_done(summary)}, {summary.events} events in {summary.path}"
    if parent := summary.parent:
        yield f"continues from {parent}"
    yield f"execution {summary.execution}{_taught(summary)}"
    yield f"head {summary.head[:DIGEST_DIGITS]}"
    yield from (f"{model}: {source or 'price unknown'}" for model, source in summary.prices.items())
    yield from (f"{model}: {_served(names)}" for model, names in summary.served.items())
    if unanswered := sum(row.unanswered for row in summary.rows):
        yield f"{counted(unanswered, 'question')} unanswered after a failed call, counted as wrong"
    if undecided := sum(row.undecided for row in summary.rows):
        yield f"{counted(undecided, 'answer')} undecided: neither right nor wrong, and nothing was learned from them"
    if recalled := summary.recalled + sum(row.recalled or 0 for row in summary.exams):
        yield (
            f"{counted(recalled, 'answer')} to anchors and in exams recalled from the nearest cases, without a call; "
            "questions to learn from are always put to the model"
        )
    if summary.repeating:
        several = f"{counted(len(summary.repeating), 'iteration')}, first in {summary.repeating[0]}"
        yield f"no question was new in {several}: those that count as fresh had been asked before"
    if summary.quarantined:
        yield f"{counted(summary.quarantined, 'memory')} in quarantine: mage-es memory list --status quarantined"
    if summary.unguided:
        yield _unguided(summary.unguided)
    yield from (*summary.shortfalls, *summary.traffic)
    if summary.judge:
        yield f"judge {summary.judge}, asked {summary.judge_calls} times"
    if summary.noticing:
        yield _noticing(summary.noticing)
    if summary.anchor_share and summary.state != "served":
        share = f"{summary.anchor_share:.1%} of the execution calls"
        yield f"{share} only measured: anchors, bare prompts, other forms, questions asked again"
    yield from (summary.problem,) if summary.problem else ()


def _taught(summary: RunSummary) -> str:
    if not summary.guidance or summary.baseline:
        return ""
    is_asked = any(row.tier == "guidance" for row in summary.ledger)
    shown = f"shown {SHOWN[summary.teacher_sees]}" if is_asked else "which was asked nothing"
    return f", guidance {summary.guidance}, {shown}"


def _unguided(lost: MissingGuidance) -> str:
    failures = sum(lost.failed.values())
    why = [f"{lost.unreadable} replies unreadable"] if lost.unreadable else []
    why += [f"{counted(failures, 'call')} failed ({by_kind(lost.failed)})"] if failures else []
    return f"WARNING: no guidance {lost.unreadable + failures} of {lost.asked} times: {', '.join(why)}"


def _served(names: Mapping[str, int]) -> str:
    """Return which model answered, by the provider's account; in capitals if it changed during the run."""
    counts = ", ".join(f"{name} ({counted(calls, 'call')})" for name, calls in names.items())
    return f"MORE THAN ONE MODEL answered: {counts}" if len(names) > 1 else f"answered by {counts}"


def _done(summary: RunSummary) -> str:
    if summary.baseline:
        right, total = summary.asked
        level = f"{_result(summary)} ({right}/{total} right)" if total else "nothing answered yet"
        return f"baseline {summary.baseline}: {level}"
    if summary.state == "served":
        # The first one publishes nothing: it asks the anchors as things are.
        return f"{counted(summary.iterations_done, 'iteration')} of publishing"
    return f"{summary.iterations_done} of {summary.iterations} iterations"


def _noticing(noticing: GuardSensitivity) -> str:
    questions = f"{noticing.questions} {'anchors' if noticing.guard == 'paired' else 'fresh questions'}"
    if noticing.smallest_drop >= 1.0:
        return f"guard {noticing.guard}: too few questions to notice any drop ({questions})"
    drop = f"{100 * noticing.smallest_drop:.1f} points"
    # The paired guard compares with the last accepted snapshot, whose answers may be of different states.
    against = ", against their last recorded answers" if noticing.guard == "paired" else ""
    return f"guard {noticing.guard}: the smallest drop it can notice is {drop} on {questions}{against}"


def iterations(summary: RunSummary) -> TextTable:
    columns = (
        *("iteration", "fresh", "correct", "revisits", "anchors", "guard"),
        *("memories of right", "of missed", "principles", "calls", "guidance"),
    )
    return TextTable(
        f"{summary.measure.capitalize()} per iteration", columns, [_iteration(row) for row in summary.rows]
    )


def _iteration(row: IterationRow) -> tuple[str, ...]:
    sizes = (row.success_memories, row.failure_memories, row.principles, row.execution_calls, row.guidance_calls)
    return (
        "start" if row.iteration < 0 else str(row.iteration),
        _level(row.fresh_score, row.fresh_correct, row.fresh_total),
        _share(row.fresh_correct, row.fresh_total),
        _share(row.revisit_correct, row.revisit_total),
        _anchors(row),
        row.guard or "-",
        *map(str, sizes),
    )


def _anchors(row: IterationRow) -> str:
    """Return the level of the anchors that were measured on this state, and how many there are."""
    level = _level(row.anchor_score, row.anchor_correct, row.anchor_total)
    return f"{level} of {row.anchor_total}" if row.anchor_total else level


def mark_of(iteration: int) -> str:
    from mage_es.events.log.markers import mark_of as named  # which loads the log's libraries

    return named(iteration)


def _level(mean_score: float | None, right: int, total: int) -> str:
    """Return a mean score in percent, or the share of right answers if there is no score."""
    return percent(right, total) if mean_score is None else f"{100 * mean_score:.1f} %"


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole}" if whole else "-"


def benefit(records: Sequence[Paired], stale: int = 0) -> TextTable | str:
    """Return what the pairs showed of what was learned, type by type, and what is served; a plain sentence if there are
    none. `stale` of the pairs have an answer of an older state."""
    if not (records and records[-1].pairs):
        return "Not tested against the bare prompt: no question was asked both ways. What was learned is served."
    rows = [_paired(record) for record in (records if len(records) > 2 else records[-1:])]
    columns = ("task type", "with what was learned", "bare prompt", "won", "lost", "served", "evidence")
    older = f" ({stale} of {records[-1].pairs} pairs by an answer of an older state)" if stale else ""
    return TextTable(f"Questions asked both ways{older}", columns, rows)


def _paired(record: Paired) -> tuple[str, ...]:
    return (
        record.task_type or "all",
        *(_share(record.learned, record.pairs), _share(record.bare, record.pairs)),
        *(str(record.won), str(record.lost)),
        "what was learned" if record.served == "learned" else "the bare prompt",
        "its own pairs" if record.is_own else "all pairs",
    )


def form_in_words(decided: FormDecided | None) -> list[str]:
    """Return the sentence on the form that a trial chose; none if there was no trial."""
    if decided is None:
        return []
    names = {
        "turns": "turns of the chat",
        "worked": "turns that show how the answer was reached",
        "lines": "plain lines",
    }
    chosen, rival = names[decided.form], names[decided.rival]
    evidence = "no " if decided.won <= decided.lost else "" if decided.form == decided.rival else "not enough "
    return [
        f"Cases are shown as {chosen}: of {decided.pairs} anchors asked in both forms {decided.turns} were right with "
        f"turns and {decided.tried} with {rival} ({decided.won} won, {decided.lost} lost): {evidence}evidence that "
        f"{rival} are better (p {decided.p_value:.3f})."
    ]


def agents(title: str, *summaries: RunSummary) -> TextTable:
    """Return what each of the six agents did, for one run or several side by side: a row for each kind of result."""
    rows = []
    for cells in zip(*(summary.agents for summary in summaries), strict=True):
        counts = [{"calls": cell.calls, **cell.left} for cell in cells]
        done = list(dict.fromkeys(what for found in counts for what, count in found.items() if count))
        for what in done or ["nothing to do"]:
            name = ("", "") if what in done[1:] else (cells[0].agent, cells[0].tier)
            rows.append((*name, what, *(str(found.get(what) or "-") for found in counts)))
    return TextTable(title, ("agent", "tier", "what", *(_benchmark(summary.benchmark) for summary in summaries)), rows)


def actions(summary: RunSummary) -> TextTable:
    rows = [
        (
            *(row.action.replace("_", " "), row.taken, row.authored),
            ", ".join(f"{outcome} ({count})" for outcome, count in row.outcomes.items()),
        )
        for row in summary.actions
    ]
    return TextTable("What EVOLVE wrote", ("action", "targets", "authored", "outcomes"), rows)


def frontier(summary: RunSummary) -> TextTable:
    rows = [(skill.skill, f"{skill.mastery:.2f}", skill.brief) for skill in summary.frontier]
    return TextTable("What the latest plan set out to explore", ("skill", "mastery", "brief"), rows)


def ledger(summary: RunSummary) -> TextTable:
    """Return calls, tokens, seconds and dollars by tier, agent and purpose, with a total for each tier.

    `hits` is the share of the input tokens that the provider read from its cache.
    """
    groups: dict[tuple[str, str, str], list[LedgerRow]] = {}
    for row in summary.ledger:
        purpose = f"{row.purpose}, in batches" if row.batched else row.purpose
        groups.setdefault((row.tier, row.agent, purpose), []).append(row)
        groups.setdefault((row.tier, "all", ""), []).append(row)
    columns = (
        *("tier", "agent", "purpose", "calls", "cut", "failed", "retried"),
        *("input", "cached", "hits", "output", "thinking", "written", "seconds", "dollars"),
    )
    names = sorted(groups, key=lambda name: (name[0], name[1] == "all", name))
    rows = [(*name, *_used(groups[name])) for name in names]
    return TextTable("Calls, tokens, seconds and dollars", columns, rows, keys=3)


def _used(rows: list[LedgerRow]) -> tuple[str, ...]:
    before = [
        sum(getattr(row, name) for row in rows)
        for name in ("calls", "cut", "failures", "retries", "input_tokens", "cached_tokens")
    ]
    after = [
        sum(getattr(row, name) for row in rows) for name in ("output_tokens", "thinking_tokens", "cache_write_tokens")
    ]
    # Zero cached tokens may mean that nothing was cached, or that the provider does not say: show nothing.
    hits = f"{before[-1] / before[-2]:.0%}" if before[-1] else "-"
    known = [row.usd for row in rows if row.usd is not None]
    dollars = f"{sum(known):.4f}" if len(known) == len(rows) else "unpriced"
    return (*map(str, before), hits, *map(str, after), f"{sum(row.seconds for row in rows):.1f}", dollars)


def episodes(rows: Iterable[EpisodeRow]) -> list[TextTable]:
    """Return the episodes of each purpose, with the share of replies that named no action; [] without episodes."""
    lines = [
        (
            *(row.purpose, str(row.episodes), f"{row.mean_score:.3f}", str(row.steps), str(row.unparsed)),
            percent(row.unparsed, row.steps),
        )
        for row in rows
    ]
    columns = ("episodes", "played", "mean score", "steps", "no action", "share")
    return [TextTable("Episodes", columns, lines)] if lines else []


def exams(rows: Iterable[ExamRow]) -> list[TextTable]:
    """Return every exam that was taken, with the head of its log; [] without exams."""
    lines = [
        (
            *(row.exam, row.marker, row.control, row.execution),
            *(percent(row.correct, row.total), between(row.correct, row.total), _share(row.correct, row.total)),
            "-" if row.recalled is None else str(row.recalled),
            *(str(row.unanswered), str(row.undecided), row.head[:DIGEST_DIGITS] or "unfinished"),
        )
        for row in rows
    ]
    columns = (
        *("exam", "marker", "control", "answered by", "right", "95 %", "correct", "recalled"),
        *("unanswered", "undecided", "head"),
    )
    return [TextTable("Exams", columns, lines)] if lines else []


def runs(summaries: Iterable[RunSummary]) -> TextTable:
    columns = ("run", "benchmark", "seed", "iterations", "latest result", "events", "state")
    return TextTable("", columns, [_run(summary) for summary in summaries])


def _benchmark(name: str) -> str:
    """Return a benchmark's short name: the full name of a user's own tasks would fill the line."""
    from mage_es.engine.benchmarks.registry import title

    return title(name)


def _run(summary: RunSummary) -> tuple[str, ...]:
    if summary.state in ("damaged", "empty"):
        return (summary.run_id, summary.benchmark or "-", "-", "-", "-", "-", f"{summary.state}: {summary.problem}")
    done = _done(summary).removesuffix(" iterations") if not summary.baseline else summary.baseline
    name = (summary.run_id, _benchmark(summary.benchmark), str(summary.seed))
    return (*name, done, _result(summary), str(summary.events), summary.state)


def _result(summary: RunSummary) -> str:
    """Return a baseline's result on its held-out questions, any other run's in its exam, or else on its latest fresh
    questions."""
    asked = [row for row in summary.rows if row.fresh_total]
    if (exam := summary.exam) and not summary.baseline:
        at = "" if exam.marker == "latest" else f" at {exam.marker}"
        return f"exam{at} {percent(exam.correct, exam.total)} right"
    if summary.baseline:
        means = [row.mean_score * row.episodes / summary.asked[1] for row in summary.episodes]
        level = _level(means[0] if means else None, *summary.asked)
    else:
        level = _level(asked[-1].fresh_score, asked[-1].fresh_correct, asked[-1].fresh_total) if asked else "-"
    return f"{summary.measure} {level}" if level != "-" else level


def exam(report: ExamReport) -> TextTable:
    from mage_es.engine.verbs.exam_report import GroupScore

    groups = [GroupScore(name="all", correct=report.correct, total=report.total)]
    groups += [group for group in (report.familiar, report.unfamiliar) if group is not None]
    control = f", control {report.control}" if report.control != "none" else ""
    title = f"Exam {report.exam_id} of {report.run_id} at {report.marker}{control}"
    return scores(title, [*groups, *report.task_types], share=share_of(report.episodes))


def share_of(episodes: tuple[EpisodeRow, ...]) -> str:
    """Return the heading over the share of right answers: an episode succeeds, it is not right or wrong."""
    return "succeeded" if episodes else "accuracy"


def scores(title: str, groups: Iterable[GroupScore], *, share: str = "accuracy") -> TextTable:
    rows = [
        (group.name, percent(*counts), between(*counts), _share(*counts))
        for group in groups
        for counts in [(group.correct, group.total)]
    ]
    return TextTable(title, ("questions", share, "95 %", "correct"), rows)


def between(right: int, asked: int) -> str:
    """Return the interval of a share of right answers in percent, such as `41.2 to 63.9`."""
    from mage_es.engine.run.exams import interval

    ends = interval(right, asked)
    return "-" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}"


def digests(report: ReplayReport) -> TextTable:
    words = {True: "yes", False: "NO", None: "not recorded"}
    rows = [
        (check.projection, check.recorded[:DIGEST_DIGITS] or "none", check.rebuilt[:DIGEST_DIGITS], words[check.equal])
        for check in report.checks
    ]
    return TextTable(f"Digests at {report.marker}", ("projection", "recorded", "rebuilt", "equal"), rows)


def replayed(report: ReplayReport) -> str:
    sizes = memory_sizes(report.success_memories, report.failure_memories, report.principles)
    return f"{report.seq} events in {report.seconds:.2f} s, without a model: {sizes}.\nRebuilt in {report.path}"


def memory_sizes(successes: int, failures: int, principles: int) -> str:
    """Return how many memories of each kind were ever made: of several for one question, the last is in use."""
    made = f"{counted(successes, 'memory')} of right answers, {failures} of missed questions"
    return f"{made}, {counted(principles, 'principle')}, including those replaced since"


def by_kind(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in counts.items())
