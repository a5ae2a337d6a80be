"""What people do with a run between its sessions: copy it, erase a subject from it, decide on what it learned."""
