"""`builtin/apprentice`: plays workshop by what its prompt says about the world."""
