"""Views of the log: graph, memory, slots, bandits, coverage, scores, ledger. Imports only `events`."""
