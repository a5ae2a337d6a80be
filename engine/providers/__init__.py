"""Providers of models and vectors: their clients, and what the doctor asks them. README.md has the rest."""
