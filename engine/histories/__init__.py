"""Questions about the history of a run: what changed and when, what would have been, what of it can go elsewhere."""
