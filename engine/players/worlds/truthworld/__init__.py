"""A generated world with a known ground truth: hidden rules, memories of four kinds, and the true effect of each."""
