"""What people do with a run between its sessions: back it up, erase a subject from it, decide about what it learned."""
