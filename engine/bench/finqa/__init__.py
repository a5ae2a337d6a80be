"""FinQA: questions about pages of financial reports, answered by a number that a small program computes."""
