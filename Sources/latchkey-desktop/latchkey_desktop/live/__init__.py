"""What is known now, kept up to date: names, mounts and daemons."""
