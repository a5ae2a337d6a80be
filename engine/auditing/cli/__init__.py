"""The commands of this wing."""

from mage_es.cli.entries import CommandEntry, GroupEntry
from mage_es.engine.auditing.cli import key, receipt, reproduce, verify

COMMANDS = (
    CommandEntry("Check and keep", 20, verify.verify, verify.EXAMPLES),
    CommandEntry("Check and keep", 30, receipt.receipt, receipt.EXAMPLES),
    GroupEntry(
        *("Check and keep", 40, "key", "Make a key, sign a run's head, witness one."),
        new=(key.new, key.NEW_EXAMPLES),
        sign=(key.sign, key.SIGN_EXAMPLES),
        cosign=(key.cosign, key.COSIGN_EXAMPLES),
    ),
    CommandEntry("Check and keep", 50, reproduce.reproduce, reproduce.EXAMPLES),
)
