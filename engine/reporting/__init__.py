"""Reports over many runs: the paper's tables and figures, made from recorded events and from nothing else."""
