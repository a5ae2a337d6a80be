"""The command of this wing."""

from mage_es.cli.entries import CommandEntry
from mage_es.engine.bench.cli import fetch

COMMANDS = (CommandEntry("Set up", 11, fetch.fetch, fetch.EXAMPLES),)
