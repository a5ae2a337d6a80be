"""What feedback leads to, and what the coin shows; pure, like engine/rules."""
