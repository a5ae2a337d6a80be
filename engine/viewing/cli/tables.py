"""The tables of a question: how it was asked, and the memories in its prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mage_es.cli.output import TextTable

if TYPE_CHECKING:
    from mage_es.engine.served.frozen import BundleMember
    from mage_es.engine.viewing.show import QuestionReport


def asked(report: QuestionReport) -> TextTable:
    verdict = {True: "correct", False: "wrong", None: "not judged"}[report.correct]
    if report.why:
        verdict = f"{verdict}: {report.why}"
    if report.unanswered:
        verdict = f"unanswered ({report.unanswered})"
    if report.undecided:
        verdict = f"undecided, neither right nor wrong ({report.undecided})"
    wanted = "the right one is not in this copy" if report.expected is None else f"expected {report.expected}"
    when = f"iteration {report.iteration}, " if report.iteration >= 0 else ""
    when = f"exam {report.exam}, " if report.exam else when
    rows = [
        ("asked", f"{report.run_id}, {when}seq {report.seq}, as {report.purpose}"),
        ("task type", report.task_type),
        ("skill", report.skill),
        ("search arm", f"{report.search_arm}, chosen with probability {report.search_probability:.3f}"),
        ("routing arm", f"{report.routing_arm}, chosen with probability {report.routing_probability:.3f}"),
        ("answer", f"{report.answer or 'none found'}, {wanted}"),
        ("verdict", verdict if report.judge in ("", "rule") else f"{verdict}, decided by {report.judge}"),
    ]
    if report.rejudged is not None:
        rows.append(("scored again", "correct" if report.rejudged else "wrong"))
    return TextTable(f"Question {report.question_id}", ("fact", "value"), rows)


def bundle(members: tuple[BundleMember, ...]) -> TextTable | str:
    """Return the memories in a prompt and their origin; their texts are in the prompt itself."""
    if not members:
        return "Bundle: none of the run's memories"
    rows = [(member.memory_id, member.outcome, f"{member.similarity:.3f}", member.origin) for member in members]
    return TextTable(f"Bundle: {len(rows)} of the run's memories", ("memory", "kind", "similarity", "from"), rows)
