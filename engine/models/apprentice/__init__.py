"""`builtin/apprentice`: a deterministic model for episodes that acts on what its prompt tells of the world."""
