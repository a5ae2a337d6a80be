"""Runs that answer with what they learned: how a run is frozen, which runs are served, who may ask, and what was
recorded."""
