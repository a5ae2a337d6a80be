"""`builtin/survivor`: plays Crafter by what its prompt says about the game."""
