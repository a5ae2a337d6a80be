"""The six agents of the paper, one file each."""
