"""Ways of prompting that learn nothing, and plain methods that learn, to compare MAGE with."""
