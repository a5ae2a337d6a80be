"""Questions about a run's history: what changed and when, what would have been, what another run can take over."""
