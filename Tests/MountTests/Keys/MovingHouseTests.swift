import Foundation
import TestSupport
import Testing

extension MountTests {
    /// The vault's folder is its own backup, by any program that copies files: taken while it is mounted, and opened on
    /// a new machine.
    @Suite struct MovingHouse {
        enum State: CaseIterable {
            case unmounted, unlocked, locked
        }

        private static let tree = """
            mkdir -p d/e "d/a long name $(printf 'x%.0s' $(seq 180))"
            for n in $(seq 40); do head -c $((n * 997)) /dev/urandom > d/e/$n; done
            head -c 300000 /dev/urandom > large; : > empty; ln -s d/e/7 link; echo two > "d/two words"
            setfattr -n user.latchkey.class -v complete d/e/1 d/e/2 large
            setfattr -n user.latchkey.class -v complete-unless-open d/e/3
            """
        private static let sums = "find . -type f -o -type l | sort | xargs -d '\\n' sha256sum; find . -type d | sort"

        private static let ways = [
            "restic": """
            export RESTIC_PASSWORD=x RESTIC_CACHE_DIR="$1/cache"
            restic -q init -r "$1/repo"
            restic -q backup -r "$1/repo" "$2"
            restic -q restore -r "$1/repo" latest --target "$1/r"
            mv "$1/r$2" "$3"
            """,
            "rclone": """
            rclone --config /dev/null --links sync "$2" "$1/cloud"
            rclone --config /dev/null --links sync "$1/cloud" "$3"
            """,
            "tar": """
            tar --xattrs -C "$2" -cf "$1/t" .
            mkdir "$3"
            tar --xattrs -C "$3" -xf "$1/t"
            """,
        ]

        /// Each state is checked with the program that reads most, and each program in a state of its own.
        private static let cases: [(String, State)] =
            State.allCases.map { ("restic", $0) } + [("rclone", .locked), ("rclone", .unlocked), ("tar", .unlocked)]

        @Test(arguments: cases) func backedUp(by program: String, state: State) throws {
            let vault = try Vault()
            let sums = try withMount(vault) { mount in
                try shell(Self.tree, in: mount.path).succeeded()
                return try shell(Self.sums, in: mount.path).succeeded().text
            }
            let mount = state == .unmounted ? nil : try MountedVault(vault)
            if state == .locked, let mount { try vault.latchkey(["lock", "--now", mount.path]).succeeded() }
            let copy = vault.folder.path("restored")
            let script = try vault.folder.write(Self.ways[program]!, to: "script")
            try run("bash", ["-e", script, vault.folder.makeFolder("backup"), vault.path, copy], within: 120)
                .succeeded()
            try mount?.unmount()

            // Another machine: no device key there.
            let state = try vault.folder.makeFolder("elsewhere", mode: 0o700)
            let environment = vault.environment.merging(["XDG_STATE_HOME": state]) { $1 }
            let point = try vault.folder.makeFolder("point")
            let opening = ["mount", "--recovery", "--recovery-key-file", vault.recoveryKeyFile]
            try run(
                Built.latchkey, opening + ["--passcode-file", vault.passcodeFile, copy, point], environment: environment
            ).succeeded()
            defer { _ = try? run(Built.latchkey, ["unmount", "--lazy", point], environment: environment) }
            #expect(try shell(Self.sums, in: point).succeeded().text == sums)
            try run(Built.latchkey, ["unmount", point], environment: environment).succeeded()
            try run(
                Built.latchkey, ["fsck", "--passcode-file", vault.passcodeFile, copy], environment: environment)
        }
    }
}
