"""Care of a log: verify it with its questions and signed heads, repair it, back it up and restore it."""

from mage_es.events.care.backup import Stored, back_up
from mage_es.events.care.chains import HeadSearch
from mage_es.events.care.heads import HeadsVerdict, cosign_head, verify_heads
from mage_es.events.care.manifest import CompleteBackup, complete
from mage_es.events.care.questions import QuestionsVerdict, verify_questions
from mage_es.events.care.repair import RepairReport, plan_repair, repair_log
from mage_es.events.care.restore import restore
from mage_es.events.care.verify import Finding, LogVerdict, verify_log

__all__ = [
    "CompleteBackup",
    "Finding",
    "HeadSearch",
    "HeadsVerdict",
    "LogVerdict",
    "QuestionsVerdict",
    "RepairReport",
    "Stored",
    "back_up",
    "complete",
    "cosign_head",
    "plan_repair",
    "repair_log",
    "restore",
    "verify_heads",
    "verify_log",
    "verify_questions",
]
