"""Own tasks: questions of the user's, from a file or a hub, with no code at all."""

OWN_TASKS = "tasks/"
"""What the name of a benchmark of own tasks begins with."""
