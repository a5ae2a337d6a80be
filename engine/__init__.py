"""The loop and its rules. `decide` computes events, the log keeps them, projections fold them."""
