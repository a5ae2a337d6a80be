"""What a fact is, whatever it is about: events and their fields, the envelope, private texts, a vocabulary of types."""

from __future__ import annotations

from mage_es.events.facts.envelope import Draft, Record
from mage_es.events.facts.form import EmbeddingBytes, Event, Part, SubjectText, tag_of
from mage_es.events.facts.vocabulary import Vocabulary

__all__ = ["Draft", "EmbeddingBytes", "Event", "Part", "Record", "SubjectText", "Vocabulary", "tag_of"]
