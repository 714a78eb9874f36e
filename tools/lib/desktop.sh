# shellcheck shell=bash
# Where the files of latchkey-desktop go. tools/package sources this behind common.sh.
# shellcheck disable=SC2154 # common.sh sets top.

# lay_out_desktop ROOT: puts the window, the tray, the file managers' extensions and the translations below ROOT/usr,
# and the start at login below ROOT/etc.
lay_out_desktop() {
    local root=$1 from=$top/Sources/latchkey-desktop share=$1/usr/share file name
    install -d "$root/usr/bin" "$share/latchkey-desktop" "$share/man/man1" "$share/icons"
    install -m 0755 "$from/latchkey-desktop" "$root/usr/bin/latchkey-desktop"
    (cd "$from" && find latchkey_desktop -name '*.py' -o -name '*.css') | while IFS= read -r file; do
        install -D -m 0644 "$from/$file" "$share/latchkey-desktop/$file"
    done
    (cd "$from/data/icons" && find . -name '*.svg') | while IFS= read -r file; do
        install -D -m 0644 "$from/data/icons/$file" "$share/icons/$file"
    done
    install -D -m 0644 "$from/data/io.latchkey.Desktop.desktop" "$share/applications/io.latchkey.Desktop.desktop"
    install -D -m 0644 "$from/data/io.latchkey.Desktop.Tray.desktop" \
        "$root/etc/xdg/autostart/io.latchkey.Desktop.Tray.desktop"
    for name in nautilus nemo caja; do
        install -D -m 0644 "$from/extensions/latchkey_$name.py" "$share/$name-python/extensions/latchkey_$name.py"
    done
    install -m 0644 "$top/docs/man/latchkey-desktop.1" "$share/man/man1/"
    "$top/tools/desktop-strings" --build "$share/locale"
    find "$share/locale" -type d -exec chmod 0755 {} +
    find "$share/locale" -type f -exec chmod 0644 {} +
}
