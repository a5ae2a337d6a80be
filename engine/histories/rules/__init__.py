"""What can be concluded from a run's record; pure, like engine/rules."""
