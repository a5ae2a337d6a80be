"""Facts, and the append-only log that keeps them. Imports nothing of this project."""
