"""A run's surroundings: its folder, its world, its budget, and how its process behaves."""
