"""RealMath: questions from research mathematics whose answers are closed expressions."""
