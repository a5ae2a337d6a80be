"""Runs that answer with what they learned: how one is frozen, which are served, who may ask, what it recorded."""
