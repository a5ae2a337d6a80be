"""Own tasks: questions of the user's, from a file or a hub, with no code at all."""
