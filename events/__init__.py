"""Facts, and the append-only log that keeps them. Imports nothing of this project."""

from mage_es.events.facts.vocabulary import Vocabulary
from mage_es.events.vocabulary import MAGE_ES

# Imported here, where the log and its first user meet: no package of the log imports the vocabulary of a run.
Vocabulary.default = MAGE_ES
