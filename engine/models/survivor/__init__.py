"""`builtin/survivor`: a deterministic model for episodes in a world seen in words; it acts on what its prompt tells."""
