"""Runs that answer questions with what they learned: how one is frozen, how its serving begins, what it recorded."""
