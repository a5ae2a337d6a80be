"""The commands of the wing."""

from mage_es.cli.entries import CommandEntry
from mage_es.engine.providers.cli import doctor

COMMANDS = (CommandEntry("Set up", 10, doctor.doctor, doctor.EXAMPLES),)
