"""Runs that answer with what they learned: freezing one, which are served, who may ask, what they recorded."""
