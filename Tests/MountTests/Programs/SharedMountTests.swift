import Glibc
import TestSupport
import Testing

extension MountTests {
    /// One mount with several users, and what it reports of the disk that they share.
    @Suite(.enabled(if: geteuid() == 0, "needs root")) struct SharedMounts {
        private static let helpers = """
            refused() { if "$@" > /dev/null 2>&1; then echo "not refused: $*"; exit 1; fi; }
            as() { user=$1; shift; setpriv --reuid=$user --regid=$user --clear-groups -- "$@"; }
            """

        /// If root moves the vault's folder to a disk with quotas, or copies it, the owners there are the same.
        @Test func filesAreTheirMakersInTheVaultToo() throws {
            try withScene(options: ["-o", "allow_other"]) { scene in
                try shell(
                    """
                    \(Self.helpers)
                    chmod 1777 .
                    as 1234 sh -c 'echo text > file; mkdir -m 700 folder; ln -s file link; mkfifo fifo; ln file hard'
                    as 1234 sh -c 'echo text > folder/inner'
                    as 1235 sh -c 'echo text > other'
                    as 1234 chmod 600 file; refused as 1235 cat file; refused as 1235 ls folder; refused as 1235 rm file
                    """, in: scene.mount.path
                ).succeeded()
                let owners = [
                    "file": "1234:1234:600", "folder": "1234:1234:700", "link": "1234:1234:777",
                    "fifo": "1234:1234:644", "folder/inner": "1234:1234:644", "other": "1235:1235:644",
                ]
                for (name, owner) in owners {
                    for path in [scene.path(name), try scene.mount.backingPath(name)] {
                        #expect(try shell("stat -c %u:%g:%a '\(path)'").text == owner + "\n", "\(path)")
                    }
                }
            }
        }

        @Test func withoutAllowOtherAMountIsItsOwnersAlone() throws {
            try withScene { scene in
                try shell(
                    """
                    \(Self.helpers)
                    chmod 777 '\(scene.mount.path)'; cd '\(scene.mount.path)'; echo text > file; chmod 666 file
                    cd ..; for call in 'ls mount' 'stat mount' 'cat mount/file' 'touch mount/new'; do
                        refused as 1234 $call
                    done
                    ls mount
                    """, in: scene.mount.vault.folder.path
                ).succeeded()
            }
        }

        /// df(1) shows the vault's disk, and du(1) adds up to what is used there.
        @Test(.enabled(if: LoopDisk.isAvailable, "needs loop devices")) func spaceIsThatOfTheDisk() throws {
            let disk = try LoopDisk(size: "256M")
            let vault = try Vault(at: disk.path + "/vault")
            try withMount(vault) { mount in
                try shell(
                    """
                    space() { stat -f -c "$1" "$2"; }
                    used() { find "$1" -name 'lk.*' -prune -o -printf '%b\\n' | awk '{ sum += $1 } END { print sum }'; }
                    mkdir folder; seq 100000 > file; cp file folder/copy; truncate -s 100M sparse; ln file hard
                    head -c 20M /dev/urandom > large; for i in $(seq 100); do echo $i > folder/$i; done; sync -f .
                    backing='\(vault.path)'
                    test "$(space '%b %S %l %c' .)" = "$(space '%b %S 255 %c' "$backing")"
                    for what in %f %a; do
                        difference=$(($(space $what .) - $(space $what "$backing")))
                        test "${difference#-}" -lt 300 || { echo "$what: $difference blocks"; exit 1; }
                    done
                    test "$(df --output=size . | tail -n 1)" = "$(df --output=size "$backing" | tail -n 1)"
                    df --output=target . | grep -q '/mount$'
                    test "$(used .)" = "$(used "$backing")"
                    test "$(du -sk . | cut -f 1)" -ge 21000; test "$(du -sk . | cut -f 1)" -le 24000
                    rm large; sync -f .; test "$(du -sk . | cut -f 1)" -le 4000
                    """, in: mount.path
                ).succeeded()
            }
        }
    }
}
