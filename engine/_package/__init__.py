"""MAGE as an event-sourced engine: what a frozen model learned, from what, at what cost, replayed from a log."""

__version__ = "0.1.0"
