"""A run made visible: interval tables of its life, files that hold them, and a server for one browser or a team."""
