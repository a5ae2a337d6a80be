"""Generated arithmetic word problems of several steps, with reference solutions and no data set to fetch."""
