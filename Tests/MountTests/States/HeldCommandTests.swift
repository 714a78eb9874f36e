import Foundation
import Glibc
import TestSupport
import Testing

/// What `latchkey hold` does with its command.
extension MountTests.Holding {
    /// The command goes on, and its exit code counts, also if the end of the hold cannot be told.
    @Test func nothingReadsItsErrors() throws {
        try withMount(Vault(), grace: 0) { mount in
            let script = """
                (latchkey() { "$LATCHKEY" "$@"; }
                set +e
                latchkey hold --for 600 --vault "$1" \\
                    sh -c '"$LATCHKEY" lock --now --wait "$1"; sleep 0.3; exit 5' sh "$1"
                echo "$?" >&3) 3>&1 >/dev/null 2> >(exec true)
                """
            let code = try attempt(
                "bash", ["-c", script, "bash", mount.path],
                environment: mount.vault.environment.merging(["LATCHKEY": Built.latchkey]) { $1 })
            #expect(code.text == "5\n", "\(code)")
        }
    }

    /// Before the command runs.
    @Test func whatCannotBeHeld() throws {
        let vault = try Vault()
        let marker = vault.folder.path("marker")
        func refusal(_ options: [String] = []) throws -> Outcome {
            let outcome = try vault.latchkey(["hold", "--for", "1s"] + options + ["touch", marker])
            #expect(!Disk.exists(marker))
            return outcome
        }
        #expect(try refusal(["--vault", vault.path]).status == 5)
        #expect(try refusal(["--for", "0"]).status == 2 && refusal(["--for", "2d"]).status == 2)
        #expect(try refusal(["--nothing"]).status == 2)
        #expect(try refusal(["--because", String(repeating: "x", count: 201)]).status == 2)
        #expect(try vault.latchkey(["hold", "--for", "1s", "--"]).status == 2)
        try withMount(vault, unlocked: false) { mount in
            let locked = try refusal(["--vault", mount.path])
            #expect(locked.status == 4 && locked.errors.contains("try: latchkey unlock \(mount.path)"), "\(locked)")
            try mount.unlock()
            let other = try Vault()
            try withMount(other, unlocked: false) { second in
                let refused = try refusal(["--vault", mount.path, "--vault", second.path])
                #expect(refused.status == 4)
                let status = try mount.status()
                #expect(status.holds == nil)
            }
            try mount.lockNow()
            #expect(try refusal(["--vault", mount.path]).status == 4)
        }
    }

    /// Of all mounts, one that cannot be held keeps no other from it. In a namespace of its own: root's mounts share a
    /// folder of sockets.
    @Test func oneOfAllCannotBeHeld() throws {
        let (vault, other) = (try Vault(), try Vault())
        let policy = try vault.folder.write("longest-hold = 0\n", to: "policy.toml", mode: 0o644)
        let (forbidden, allowed) = (
            try vault.folder.makeFolder("forbidden", mode: 0o755), try vault.folder.makeFolder("allowed", mode: 0o755)
        )
        let script = """
            mount -t tmpfs -o mode=700 none /run/latchkey
            latchkey() { "$LATCHKEY" "$@"; }
            trap 'latchkey unmount --lazy "$5"; latchkey unmount --lazy "$6"' EXIT
            latchkey mount "$1" "$5" --policy "$3" --unlock --passcode-file "$2" > /dev/null
            set +e
            latchkey hold --for 9s echo forbidden; echo "$?"
            XDG_STATE_HOME=$8 latchkey mount "$4" "$6" --unlock --passcode-file "$7" > /dev/null
            latchkey hold --for 9s sh -c 'echo "held $("$LATCHKEY" status "$1" | grep -c "holds ")"; exit 3' sh "$6"
            echo "$?"
            latchkey hold --for 9s --vault "$6" --vault "$5" echo named; echo "$?"
            """
        let outcome = try attempt(
            "unshare",
            [
                "-m", "bash", "-ec", script, "bash", vault.path, vault.passcodeFile, policy, other.path, forbidden,
                allowed, other.passcodeFile, try #require(other.environment["XDG_STATE_HOME"]),
            ], environment: vault.environment.merging(["LATCHKEY": Built.latchkey]) { $1 })
        // Neither "forbidden" nor "named" is printed.
        #expect(outcome.text == "1\nheld 1\n3\n1\n", "\(outcome)")
        #expect(outcome.errors.contains("the lock of \(forbidden) is not held: "), "\(outcome)")
    }

    @Test func theCommandIsRunAsItIs() throws {
        try withMount(Vault()) { mount in
            func held(_ command: String...) throws -> Outcome {
                try mount.latchkey(["hold", "--for", "9s", "--vault", mount.path] + command)
            }
            let words = ["--", "--help", "-x", "--vault", "a b", "", "--for"]
            #expect(
                try held("printf", "%s|", "--", "--help", "-x", "--vault", "a b", "", "--for").text
                    == words.map { $0 + "|" }.joined())
            #expect(try held("--", "printf", "%s|", "--", "-x").text == "--|-x|")
            let raw = try shell(
                "\(Built.latchkey) hold --for 9s --vault \(mount.path) printf '%s|' $'caf\\xe9' | od -An -tx1",
                environment: mount.vault.environment)
            #expect(raw.text == " 63 61 66 e9 7c\n")
            #expect(try held("sh", "-c", "exit 3").status == 3)
            #expect(try held("sh", "-c", "kill -9 $$").status == 137)
            let missing = try held("no-such-program")
            #expect(missing.status == 127 && missing.errors.contains("cannot run no-such-program"), "\(missing)")
            #expect(try held("/etc/passwd").status == 126)
            // No descriptor but the three, and the caller's signals.
            // Not by a shell, which may clear its mask.
            #expect(try held("ls", "/proc/self/fd").text == "0\n1\n2\n3\n")
            #expect(try held("grep", "SigBlk", "/proc/self/status").text == "SigBlk:\t0000000000000000\n")
        }
    }

    /// A signal that a process sends is passed on; a key of the terminal reaches the command without help.
    @Test func signalsReachTheCommandOnce() throws {
        let script = """
            count=0
            trap 'count=$((count + 1))' INT TERM HUP USR1
            printf ready
            while test $count = 0; do sleep 0.05; done
            sleep 0.3
            echo "heard $count"
            exit 4
            """
        try withMount(Vault()) { mount in
            for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1] {
                let held = try HeldCommand(mount, script)
                try until("it is ready") { held.said.contains("ready") }
                held.child.send(signal)
                #expect(held.child.wait() == 4 && held.said.contains("heard 1"), "\(signal): \(held.said)")
            }
            let outcome = try mount.vault.latchkey(
                ["hold", "--for", "9s", "--vault", mount.path, "sh", "-c", script],
                answering: [("ready", "\u{3}")])
            #expect(outcome.status == 4 && outcome.text.contains("heard 1"), "\(outcome)")
        }
    }
}
