"""Models behind one interface: an execution model answers a prompt, and a guidance model writes a typed reply."""
