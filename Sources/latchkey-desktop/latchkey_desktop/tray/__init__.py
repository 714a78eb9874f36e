"""The icon in the tray: a StatusNotifierItem with a menu of com.canonical.dbusmenu, over D-Bus alone."""
