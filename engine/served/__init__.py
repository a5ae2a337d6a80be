"""Runs that answer with what they learned: how one is frozen, how its serving begins, who may ask, what it recorded."""
