"""Task sets whose rules are drawn from the seed, so that no model can know them: only experience shows them."""
