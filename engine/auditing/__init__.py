"""What proves a finished run: every byte and theorem checked, every number computed again, heads signed."""
