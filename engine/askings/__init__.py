"""The questions that a run's logs record, and asking them again."""
