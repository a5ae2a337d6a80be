"""`builtin/shopper`: a deterministic model for WebShop that shops as the episodes and advice in its prompt do."""
