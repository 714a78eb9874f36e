"""What is shown, as pure functions of what daemons say and of the clock. No module here knows GTK or sockets."""
