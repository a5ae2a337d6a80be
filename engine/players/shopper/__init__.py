"""`builtin/shopper`: shops in WebShop as the episodes and advice in its prompt suggest."""
