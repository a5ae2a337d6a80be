"""The past of a run, asked: what differs, since when, what would have been, and what of it goes on elsewhere."""
