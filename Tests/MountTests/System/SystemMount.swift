import Glibc
import TestSupport

extension Vault {
    /// Runs a script in which mount(8) finds this program as its helper, in a mount namespace that ends with the
    /// script: in the real /sbin nothing changes.
    ///
    /// The script has the variables `latchkey`, `vault`, `passcode` (a file), `folder` (of the test) and `dir`, an
    /// empty folder to mount on, and the functions `fails STATUS COMMAND…` and `tree`, which prints what is in the
    /// vault's folder, without its journal.
    func system(_ script: String, helpers: [String] = installed) throws -> Outcome {
        let variables = [
            "latchkey": Built.latchkey, "vault": path, "passcode": passcodeFile, "folder": folder.path,
            "dir": try folder.makeFolder("dir"), "helpers": helpers.joined(separator: " "),
        ]
        return try attempt(
            "unshare", ["--mount", "--propagation", "private", "bash", "-euo", "pipefail", "-c", prelude + script],
            environment: environment.merging(variables) { $1 }, within: 120
        ).succeeded()
    }
}

/// The names under which the package installs the program in /sbin.
private let installed = ["mount.latchkey", "mount.fuse.latchkey", "umount.latchkey", "umount.fuse.latchkey"]

private let prelude = """
    sbin=$(readlink -f /sbin)
    mkdir "$folder/sbin"
    mount -t tmpfs none "$folder/sbin"
    mkdir "$folder/sbin/old" "$folder/sbin/new"
    mount --bind "$sbin" "$folder/sbin/old"
    ln -s "$folder"/sbin/old/* "$folder/sbin/new/"
    for helper in $helpers; do ln -sfn "$latchkey" "$folder/sbin/new/$helper"; done
    mount --bind "$folder/sbin/new" "$sbin"
    trap '! mountpoint -q "$dir" || umount -l "$dir"' EXIT
    fails() {
        local wanted=$1 status=0
        shift
        "$@" 2>"$folder/errors" || status=$?
        [ "$status" = "$wanted" ] || { echo "$* ended with $status: $(cat "$folder/errors")" >&2; return 1; }
    }
    tree() {
        (cd "$vault" && find . -type f ! -name lk.journal ! -name lk.lock ! -path "*/lk.claims/*" -printf '%s %T@ ' -exec sha256sum {} \\;) |
            sort
    }

    """
