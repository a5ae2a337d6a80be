"""The command of this wing."""

from mage_es.cli.entries import CommandEntry
from mage_es.engine.exports.cli import export

COMMANDS = (CommandEntry("Check and keep", 60, export.export, export.EXAMPLES),)
