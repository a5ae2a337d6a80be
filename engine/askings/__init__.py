"""What the logs of a run asked, and asking it again."""
