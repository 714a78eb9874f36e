"""What the extensions of the file managers share. It runs in their processes: it draws nothing, and waits for nothing."""
