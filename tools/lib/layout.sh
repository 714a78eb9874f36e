# shellcheck shell=bash
# Where the files of an installation go. tools/install and tools/package source this behind common.sh.
# shellcheck disable=SC2154 # common.sh sets top.

# lay_out PROGRAM ROOT PREFIX: puts everything but the program itself below ROOT/PREFIX, for the program that PROGRAM
# is. Man pages are not compressed.
lay_out() {
    local program=$1 to=$2$3
    "$top/tools/man" --program "$program" "$to/share/man"
    # They go with the module and the window.
    rm "$to/share/man/man8/pam_latchkey.8" "$to/share/man/man1/latchkey-desktop.1"
    install -d "$to/share/bash-completion/completions" "$to/share/doc/latchkey/examples"
    "$program" --generate-completion-script bash >"$to/share/bash-completion/completions/latchkey"
    if [ "$3" = /usr ]; then
        # Folders for packages of a distribution.
        install -d "$to/share/zsh/vendor-completions" "$to/share/fish/vendor_completions.d"
        "$program" --generate-completion-script zsh >"$to/share/zsh/vendor-completions/_latchkey"
        "$program" --generate-completion-script fish >"$to/share/fish/vendor_completions.d/latchkey.fish"
    else
        install -d "$to/share/zsh/site-functions" "$to/share/fish/vendor_completions.d"
        "$program" --generate-completion-script zsh >"$to/share/zsh/site-functions/_latchkey"
        "$program" --generate-completion-script fish >"$to/share/fish/vendor_completions.d/latchkey.fish"
    fi
    install -m 0644 "$top/README.md" "$to/share/doc/latchkey/"
    install -m 0644 "$top"/docs/*.md "$to/share/doc/latchkey/"
    install -m 0644 "$top/tools/debian/policy.toml" "$to/share/doc/latchkey/examples/"
}

# lay_out_pam ROOT PREFIX FOLDER: puts the PAM module into ROOT/FOLDER, for the program below PREFIX, and its man page
# below ROOT/PREFIX. It needs pam.sh.
lay_out_pam() {
    install -d "$1$3" "$1$2/share/man/man8"
    build_pam "$1$3/pam_latchkey.so" "$2/bin/latchkey"
    chmod 0644 "$1$3/pam_latchkey.so"
    install -m 0644 "$top/docs/man/pam_latchkey.8" "$1$2/share/man/man8/"
}

# lay_out_system ROOT PREFIX: the parts that only root's installation has: the helpers of mount(8), the units, and the
# line of systemd-tmpfiles.
lay_out_system() {
    local root=$1 prefix=$2 name unit
    # mount(8) looks for its helpers in /usr/sbin, whatever the prefix is. A PREFIX elsewhere is to be tried, not used.
    if [[ $prefix =~ ^/usr(/local)?$ ]]; then
        install -d "$root/usr/sbin"
        for name in mount.latchkey mount.fuse.latchkey umount.latchkey umount.fuse.latchkey; do
            if [ "$prefix" = /usr ]; then
                ln -s ../bin/latchkey "$root/usr/sbin/$name"
            else
                ln -s "$prefix/bin/latchkey" "$root/usr/sbin/$name"
            fi
        done
    fi
    install -D -m 0644 "$top/tools/system/latchkey.tmpfiles" "$root$prefix/lib/tmpfiles.d/latchkey.conf"
    for unit in "$top"/tools/system/system/* "$top"/tools/system/user/*; do
        [ -e "$unit" ] || continue
        name=$(basename "$(dirname "$unit")")
        install -d "$root$prefix/lib/systemd/$name"
        sed "s|/usr/bin/latchkey|$prefix/bin/latchkey|g" "$unit" >"$root$prefix/lib/systemd/$name/${unit##*/}"
        chmod 0644 "$root$prefix/lib/systemd/$name/${unit##*/}"
    done
}
