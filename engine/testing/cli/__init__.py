"""The command of this wing."""

from mage_es.cli.entries import CommandEntry
from mage_es.engine.testing.cli import new

COMMANDS = (CommandEntry("Set up", 30, new.new, new.EXAMPLES),)
