import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A program that saves after the unmount does not leave plaintext in the mount point.
    @Suite struct BareMountPoints {
        @Test(.enabled(if: geteuid() == 0 && Immutable.isAvailable, Immutable.why)) func ofRoot() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            let point = scene.home.path("work")
            func isClosed() -> Bool { unsafe open(point + "/new", O_CREAT | O_WRONLY, 0o600) == -1 && errno == EPERM }
            #expect(isClosed())
            for _ in 0..<2 {
                try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
                _ = try scene.home.write("x", to: "work/file")
                try scene.end("close", "work")
                #expect(isClosed())
            }
            // A folder that was there stays open unless it is to be closed.
            let there = try scene.home.makeFolder("there")
            try scene.latchkey("mount", "work", there).succeeded()
            try scene.end("unmount", "work")
            _ = try scene.home.write("x", to: "there/file")
            #expect(unsafe unlink(there + "/file") == 0)
            try scene.latchkey("mount", "--guard-mount-point", "work", there).succeeded()
            try scene.end("unmount", "work")
            #expect(unsafe open(there + "/new", O_CREAT | O_WRONLY, 0o600) == -1 && errno == EPERM)
        }

        /// fusermount3 must be able to write to the folder, so for that moment another program can too. Nothing that it
        /// writes is hidden by the mount.
        @Test func whatAProgramWritesAtThatMomentIsNotHidden() throws {
            if let missing = OrdinaryUserScript.missing {
                Issue.record("NOT TESTED: a mount by an ordinary user: \(missing)")
                return
            }
            try OrdinaryUserScript.run(
                """
                make --name work
                (set +x; n=0; while test $n -lt 1000000; do
                    echo secret > "work/plain$((n % 40))" || true; n=$((n + 1))
                done) 2> /dev/null & writer=$!
                status=0; latchkey open work --passcode-file passcode > said 2>&1 || status=$?
                kill $writer; wait $writer || true
                if test $status = 0; then latchkey close work; else grep -q 'into the folder itself' said; fi
                ! mountpoint -q work
                chmod 700 work
                if test $status = 0; then test -z "$(ls -A work)"; else test -n "$(ls -A work)"; fi
                rm -f work/plain*
                """, user: 61_239)
        }

        @Test func ofAnOrdinaryUser() throws {
            if let missing = OrdinaryUserScript.missing {
                Issue.record("NOT TESTED: a mount by an ordinary user: \(missing)")
                return
            }
            try OrdinaryUserScript.run(
                """
                mode() { stat -c %a "$1"; }
                make --name work
                test "$(mode work)" = 0; refused touch work/new
                for round in 1 2; do
                    latchkey open work --passcode-file passcode
                    echo contents > work/file
                    latchkey close work
                    test "$(mode work)" = 0; refused touch work/new; grep -q 'Permission denied' errors
                done
                # Without the option a closed folder stays closed, and is never opened.
                folder="$HOME/.local/share/latchkey/vaults/work"
                refused latchkey mount "$folder" work; grep -q 'its mode is 0' errors; test "$(mode work)" = 0
                refused latchkey mount --no-guard-mount-point work; test "$(mode work)" = 0
                # A folder that was there.
                mkdir -m 755 there
                latchkey mount work there; latchkey unmount there; test "$(mode there)" = 755
                latchkey mount --guard-mount-point work there
                # The daemon dies: the folder under its mount is closed already.
                daemon=$(latchkey status --json there | sed -n 's/.*"pid" : \\([0-9]*\\).*/\\1/p')
                kill -9 "$daemon"; while kill -0 "$daemon" 2> /dev/null; do :; done
                fusermount3 -u there
                test "$(mode there)" = 0; refused touch there/new
                # A mount that fails leaves it as it was.
                chmod 700 there; echo x > there/file; chmod 0 there
                refused latchkey mount --guard-mount-point work there; grep -q 'is not empty' errors
                test "$(mode there)" = 0; chmod 700 there; rm there/file
                # fusermount3 refuses it after the folder has been opened.
                chmod 0 there
                refused latchkey mount --guard-mount-point -o "fsname=$(printf 'x%.0s' $(seq 5000))" work there
                test "$(mode there)" = 0
                # What another user owns cannot be closed.
                refused latchkey mount --guard-mount-point work /usr; grep -q "it is another user's" errors
                # An open that fails leaves it closed, and a made folder is removed.
                echo wrong > wrong; refused latchkey open work --passcode-file wrong; test "$(mode work)" = 0
                rmdir work; refused latchkey open work --passcode-file wrong; test ! -e work
                refused latchkey mount --foreground --unlock --passcode-file wrong work; test ! -e work
                # A folder that its owner has made read-only is not taken for a closed one.
                mkdir -m 500 work; refused latchkey open work --passcode-file passcode; test "$(mode work)" = 500
                """, user: 65_421)
        }
    }
}
