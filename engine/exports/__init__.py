"""A run in the formats of other products."""
