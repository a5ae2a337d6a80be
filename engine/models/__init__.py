"""Models behind one seam: an execution model answers a prompt, a guidance model authors a typed reply."""
