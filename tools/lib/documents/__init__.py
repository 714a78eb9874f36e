"""The parts of tools/check-docs: a reader of Markdown, and one check in each file."""
