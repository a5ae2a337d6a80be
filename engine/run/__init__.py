"""What a run works in: its folder, its world, its budget, and how its process behaves."""
