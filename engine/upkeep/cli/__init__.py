"""The commands of this wing."""

from mage_es.cli.entries import CommandEntry, GroupEntry
from mage_es.engine.upkeep.cli import backup, erase, memory, prune, review

COMMANDS = (
    GroupEntry(
        *("Look", 70, "memory"),
        "Look at what a run has learned, take parts of it out of use or back, decide on proposals.",
        list=(memory.list_all, memory.LIST_EXAMPLES),
        show=(memory.show_one, memory.SHOW_EXAMPLES),
        quarantine=(memory.quarantine, memory.QUARANTINE_EXAMPLES),
        release=(memory.release, memory.RELEASE_EXAMPLES),
        prune=(prune.prune, prune.EXAMPLES),
        review=(review.review, review.EXAMPLES),
        approve=(memory.approve, memory.APPROVE_EXAMPLES),
        reject=(memory.reject, memory.REJECT_EXAMPLES),
    ),
    CommandEntry("Check and keep", 70, backup.backup, backup.BACKUP_EXAMPLES),
    CommandEntry("Check and keep", 80, backup.restore, backup.RESTORE_EXAMPLES),
    CommandEntry("Check and keep", 90, erase.erase, erase.EXAMPLES),
)
