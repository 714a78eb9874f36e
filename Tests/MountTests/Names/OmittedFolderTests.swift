import TestSupport
import Testing

extension MountTests {
    /// Commands without a DIR: the mount of the working folder, or the only one.
    @Suite struct OmittedFolder {
        @Test func theOnlyMountOrThatOfTheWorkingFolder() throws {
            if let missing = OrdinaryUserScript.missing {
                Issue.record("NOT TESTED: a mount by an ordinary user: \(missing)")
                return
            }
            try OrdinaryUserScript.run(
                """
                state() { latchkey list --json | tr -d ' \\n' | sed "s/.*\\"name\\":\\"$1\\",\\"state\\":\\"\\([a-z-]*\\)\\".*/\\1/"; }
                make --name one; make --name two
                for command in lock unlock unmount close rotate monitor; do
                    refused latchkey $command < /dev/null; grep -q 'no vault is mounted' errors
                done
                latchkey mount one
                latchkey unlock --passcode-file passcode; test "$(state one)" = unlocked
                latchkey lock --now --wait; test "$(state one)" = locked
                latchkey open two --passcode-file passcode
                # Two mounts: the command names both, and does nothing.
                for command in lock unlock unmount close rotate monitor; do
                    refused latchkey $command < /dev/null
                    grep -q '2 vaults are mounted' errors
                    grep -q "the same with $HOME/one" errors; grep -q "the same with $HOME/two" errors
                done
                test "$(state one)" = locked; test "$(state two)" = unlocked
                mkdir -p two/deep
                (cd two/deep; latchkey lock --now --wait); test "$(state two)" = locked; test "$(state one)" = locked
                (cd two; latchkey unlock --passcode-file "$HOME/passcode"); test "$(state two)" = unlocked
                (cd one; latchkey lock --now); test "$(state two)" = unlocked
                latchkey close two; test "$(state two)" = not-mounted
                latchkey close; test "$(state one)" = not-mounted
                # What destroys takes no default.
                latchkey mount one
                for command in "erase --yes" "fsck --repair" "passwd" "slot remove"; do
                    refused latchkey $command < /dev/null
                done
                test "$(state one)" = before-first-unlock; latchkey unmount
                """, user: 65_422)
        }
    }
}
