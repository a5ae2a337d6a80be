"""The commands of the wing."""

from mage_es.cli.entries import CommandEntry
from mage_es.engine.viewing.cli import ask, log, show, view

COMMANDS = (
    CommandEntry("Look", 20, ask.ask, ask.EXAMPLES),
    CommandEntry("Look", 30, show.show, show.EXAMPLES),
    CommandEntry("Look", 51, view.view, view.EXAMPLES),
    CommandEntry("Look", 80, log.log, log.EXAMPLES),
)
