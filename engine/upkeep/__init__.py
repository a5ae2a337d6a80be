"""What people do with a run between its sessions: back it up, erase a subject from it, decide on what it learned."""
