"""Prompt templates as Markdown files, rendered with the provenance of every span."""
