"""What a run learned, item by item, and what that is worth."""
