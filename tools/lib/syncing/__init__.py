"""What tools/sync-rounds is made of: two machines on this one, edits, a model of the files, and synchronisers."""
