"""The control sockets of the daemons: io.latchkey over Varlink, without a call that waits."""
