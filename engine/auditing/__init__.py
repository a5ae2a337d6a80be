"""Auditing a finished run: every byte and theorem is checked, every number recomputed, and heads are signed."""
