"""Where dynamic tools run: a language without any authority, in a separate process, under hard limits."""
