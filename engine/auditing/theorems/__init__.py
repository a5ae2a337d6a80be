"""The theorems, each checked on a real log: what was measured, what is allowed, and the first event that breaks it."""
