"""`workshop`: a text world of seeded lands, each with its own hidden technology tree; nothing to download."""
