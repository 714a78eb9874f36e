"""What the extensions of the file managers share. It runs in their processes, and waits for nothing."""
