"""Many runs side by side: matrices, rings of methods that learn, baselines, the tables and figures of their reports."""
