# shellcheck shell=bash
# File systems of a clean Debian. tools/package and tools/guest source this behind common.sh.
# shellcheck disable=SC2154 # common.sh sets top.

# The name of the Debian that this runs on, such as bookworm.
this_debian() {
    local name
    name=$(. /etc/os-release && say "${VERSION_CODENAME:-}")
    [ -n "$name" ] || fail "/etc/os-release names no release of Debian"
    say "$name"
}

# debian_archive RELEASE NAME PACKAGE...: makes .build/guest/NAME.tar, a minimal RELEASE with these packages, unless it
# is there with the same packages and younger than a week. It comes from where this machine has its own packages from.
debian_archive() {
    local release=$1 archive=$top/.build/guest/$2.tar sources=/etc/apt/sources.list.d/debian.sources list here
    shift 2
    list=$(printf '%s\n' "$release" "$@" | cksum | cut -d ' ' -f 1)
    if [ -e "$archive" ] && [ "$(cat "$archive.list" 2>/dev/null)" = "$list" ] &&
        [ -z "$(find "$archive" -mtime +7)" ]; then
        return
    fi
    say "== a clean Debian ($release)"
    mkdir -p "${archive%/*}"
    [ -e "$sources" ] || sources=/etc/apt/sources.list
    here=$(this_debian)
    sed "s/\b$here\b/$release/g" "$sources" >"$archive.sources"
    mmdebstrap --quiet --variant=minbase --include="$(paste -s -d , <<<"$(printf '%s\n' "$@")")" \
        "$release" "${archive%.tar}.new.tar" "$archive.sources" || fail "mmdebstrap could not make $release"
    mv "${archive%.tar}.new.tar" "$archive"
    say "$list" >"$archive.list"
}

# needed_by FILE...: the packages that these ones of ours depend on, by their own fields, with commas between them.
needed_by() {
    local file
    for file in "$@"; do dpkg-deb --field "$file" Depends; done |
        sed 's/([^)]*)//g; s/|[^,]*//g; s/ //g; s/^latchkey,//' | paste -s -d ,
}
