"""Baselines: ways of prompting that learn nothing, on the same model, questions, extraction and scorer."""
