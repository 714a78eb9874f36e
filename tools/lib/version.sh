# shellcheck shell=bash
# The version of the program and of its packages. The number stands in Sources/latchkey/Latchkey.swift alone; a tool
# sources this behind common.sh.
# shellcheck disable=SC2154 # common.sh sets top.

# The semantic version, such as 0.1.0.
source_version() {
    sed -n 's/.*static let version = "\([0-9.]*\)".*/\1/p' "$top/Sources/latchkey/Latchkey.swift"
}

# The commit that is built, with -dirty if files were changed since; empty without a git repository.
source_commit() {
    git -C "$top" describe --always --dirty --exclude '*' --abbrev=12 2>/dev/null || true
}

# Seconds since 1970: SOURCE_DATE_EPOCH, else the time of the commit.
source_time() {
    if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
        say "$SOURCE_DATE_EPOCH"
    else
        git -C "$top" log -1 --format=%ct 2>/dev/null || say 0
    fi
}

# debian_version RELEASE: 0.1.0~deb12 for a release's tag, else 0.1.0+git.TIME.COMMIT~deb12, which is later. A package
# for a later Debian replaces that for an earlier one.
debian_version() {
    local version commit
    version=$(source_version)
    commit=$(source_commit)
    if [ "$(git -C "$top" describe --tags --dirty --exact-match 2>/dev/null)" = "v$version" ]; then
        say "$version~deb$1"
    else
        say "$version+git.$(date -u -d "@$(source_time)" +%Y%m%d%H%M%S)${commit:+.${commit//-/.}}~deb$1"
    fi
}
