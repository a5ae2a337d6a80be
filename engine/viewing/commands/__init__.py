"""The command of the wing."""

from mage_es.cli.entries import CommandEntry
from mage_es.engine.viewing.commands import view

COMMANDS = (CommandEntry("Look", 51, view.view, view.EXAMPLES),)
