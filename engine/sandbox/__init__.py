"""Dynamic tools run here: a language without any authority, in a process of its own, under hard limits."""
