"""The three tiers of truthworld by rule: a learner whose success follows a known law, its guide, and its judge."""
