"""The window: draws the views of the model, and starts what the buttons say. It decides nothing."""

import gi

gi.require_version("Gtk", "4.0")
gi.require_version("Gdk", "4.0")
