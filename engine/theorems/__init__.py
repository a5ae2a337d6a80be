"""The theorems, each held against a real log: measured, allowed, and the first event that breaks it."""
