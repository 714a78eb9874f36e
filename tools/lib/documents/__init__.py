"""What tools/check-docs is made of: Markdown read as text, and one check a file."""
