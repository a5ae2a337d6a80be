"""Providers of models and vectors: their clients, and the checks that the doctor makes. README.md has the rest."""
