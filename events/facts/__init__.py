"""What a fact is, regardless of its subject: events and their fields, the envelope, private texts, a vocabulary of
types."""

from mage_es.events.facts.envelope import Coordinates, Draft, Record, event_id, event_ids
from mage_es.events.facts.event import EmbeddingBytes, Event, Part, Phase, SubjectText, tag_of
from mage_es.events.facts.records import LogRepaired, SegmentSealed, SignerNamed
from mage_es.events.facts.vocabulary import QuestionTypes, Vocabulary

__all__ = [
    "Coordinates",
    "Draft",
    "EmbeddingBytes",
    "Event",
    "LogRepaired",
    "Part",
    "Phase",
    "QuestionTypes",
    "Record",
    "SegmentSealed",
    "SignerNamed",
    "SubjectText",
    "Vocabulary",
    "event_id",
    "event_ids",
    "tag_of",
]
