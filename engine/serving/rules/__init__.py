"""What feedback leads to, and what the coin shows, pure as engine/rules is."""
