"""Reports over many runs: the paper's tables and figures, made only from recorded events."""
