import Foundation
import Glibc
import Testing

extension MountTests {
    /// Mounted by an ordinary user with fusermount3, in a mount namespace of its own where /dev/fuse is open to all.
    @Suite struct OrdinaryUser {
        private static let missing: String? = {
            if geteuid() != 0 {
                return nil
            }
            for program in ["unshare", "setpriv", "fusermount3", "mknod"] {
                if (try? run("sh", ["-c", "command -v \(program)"]).status) != 0 {
                    return "\(program) is not installed"
                }
            }
            return nil
        }()

        /// A script that is run by a user who is nobody in particular. Where the tests are run by one, by that one.
        private func asOrdinaryUser(_ script: String, in folder: TemporaryFolder) throws -> Outcome {
            let environment = Environment.plain.merging([
                "LATCHKEY": Built.latchkey, "PROBE": Built.probe, "XDG_STATE_HOME": folder.path("state"),
                "XDG_RUNTIME_DIR": folder.path("runtime"), "HOME": folder.path,
            ]) { $1 }
            let preparation = """
                refused() { if "$@" > /dev/null 2> errors; then echo "not refused: $*" >&2; exit 1; fi; }
                mkdir -m 700 state runtime; mkdir mount
                printf passcode > passcode
                "$LATCHKEY" init vault --kdf-memory 19 --kdf-passes 2 --passcode-file passcode --recovery-key-file recovery
                """
            guard geteuid() == 0 else {
                return try shell("set -x\n" + preparation + "\n" + script, in: folder.path, environment: environment)
            }
            unsafe chown(folder.path, 65_534, 65_534)
            let device = folder.path("fuse")
            return try run(
                "unshare",
                [
                    "-m", "--propagation", "private", "sh", "-euc",
                    """
                    mknod -m 0666 '\(device)' c 10 229; mount --bind '\(device)' /dev/fuse
                    exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -euxc "$1"
                    """, "sh", preparation + "\n" + script,
                ], environment: environment, directory: folder.path)
        }

        @Test func mountsLocksAndUnmounts() throws {
            if let missing = Self.missing {
                Issue.record("NOT TESTED: a mount by an ordinary user: \(missing)")
                return
            }
            let folder = try TemporaryFolder()
            try asOrdinaryUser(
                """
                "$LATCHKEY" mount vault mount --grace 1
                grep " $(pwd)/mount " /proc/self/mounts | grep nosuid | grep -q nodev
                test "$("$LATCHKEY" status mount --json | tr -d ' \\n' | grep -c before-first-unlock)" = 1
                "$LATCHKEY" unlock mount --passcode-file passcode
                echo contents > mount/file; setfattr -n user.latchkey.class -v complete mount/file
                test "$(stat -c %u mount/file)" = "$(id -u)"
                "$LATCHKEY" lock mount --now --wait
                refused cat mount/file; grep -q 'key not available' errors
                "$LATCHKEY" unlock mount --passcode-file passcode
                test "$(cat mount/file)" = contents
                # A key in its memory is not for the same user's other programs, either.
                daemon=$("$LATCHKEY" status mount --json | tr -d ' \\n' | sed 's/.*"pid":\\([0-9]*\\).*/\\1/')
                refused cat /proc/$daemon/environ; refused head -c 1 /proc/$daemon/mem
                test "$(stat -c %a runtime/latchkey)" = 700
                "$LATCHKEY" unmount mount
                refused grep -q " $(pwd)/mount " /proc/self/mounts; ! grep -s "State:.*[^Z] (" /proc/$daemon/status
                """, in: folder
            ).succeeded()
        }
    }
}
