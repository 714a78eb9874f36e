"""Latchkey's window and tray: the state of all vaults, and what can be done with them.

It holds no keys and reads no passcodes. It asks the daemons over their control sockets, and runs `latchkey` for what
the sockets do not offer; that command asks for a passcode itself.
"""
