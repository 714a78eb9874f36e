import Foundation
import TestSupport
import Testing

extension MountTests {
    /// After a daemon has died its mount fails closed, and the vault can be mounted again.
    @Suite struct Death {
        @Test func failsClosedAndMountsAgain() throws {
            let vault = try Vault(["--default-class", "complete"])
            let synced = [UInt8](seed: 1, count: 1_000_000)
            let probe = try Probe()
            try withMount(vault) { try probe.write($0.file("synced"), synced) }
            let mount = try MountedVault(vault)
            try probe.open(0, mount.file("growing"), "rw,creat").required()
            try probe.pwrite(0, 0, [UInt8](seed: 2, count: 10_000)).required()
            try probe.fsync(0).required()
            try probe.pwrite(0, 10_000, [UInt8](seed: 3, count: 5_000)).required()
            try probe.open(1, mount.file("synced")).required()
            try probe.map(1, 1, 8192, "shared", "r").required()

            mount.kill()
            #expect(isGone(try probe.pread(1, 500_000, 10)), "what is in no cache")
            #expect(isGone(try probe.open(2, mount.file("synced"))))
            #expect(isGone(try probe.ask("list", mount.path)))
            probe.process.send(9)
            probe.process.wait()
            mount.detach()

            let other = try Probe()
            try withMount(vault) { mount in
                #expect(try other.contents(mount.file("synced")) == synced)
                let growing = try other.contents(mount.file("growing"))
                #expect(growing.count >= 10_000)
                #expect(Array(growing.prefix(10_000)) == [UInt8](seed: 2, count: 10_000))
                // The file can be written to again.
                try other.write(mount.file("growing"), [1])
                #expect(try other.contents(mount.file("growing")) == [1])
            }
        }

        /// The file is never closed before the daemon dies: each write that extends it makes its length durable.
        @Test func whatIsWrittenToANewFileOutlivesIt() throws {
            let vault = try Vault()
            let bytes = [UInt8](seed: 7, count: 20_000)
            let probe = try Probe()
            let mount = try MountedVault(vault)
            for (slot, flags) in ["rw,creat", "w,creat"].enumerated() {
                try probe.open(slot, mount.file("file \(slot)"), flags).required()
                for offset in stride(from: 0, to: bytes.count, by: 5000) {
                    try probe.pwrite(slot, offset, Array(bytes[offset..<offset + 5000])).required()
                }
            }
            mount.kill()
            probe.process.send(9)
            probe.process.wait()
            mount.detach()
            let other = try Probe()
            try withMount(vault) { mount in
                for slot in 0..<2 {
                    let found = try other.contents(mount.file("file \(slot)"))
                    #expect(found == bytes)
                }
            }
        }

        /// For a file of an earlier session, each close records the writes before it, also while another handle stays
        /// open.
        @Test func whatWasClosedOutlivesIt() throws {
            let vault = try Vault()
            // Whole blocks: the next write begins behind the durable ones.
            let before = [UInt8](seed: 9, count: 8192)
            let bytes = [UInt8](seed: 8, count: 20_000)
            let probe = try Probe()
            try withMount(vault) { mount in try probe.write(mount.file("file"), before) }
            let mount = try MountedVault(vault)
            try run(
                "python3",
                [
                    "-c",
                    """
                    import os, signal, sys
                    file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
                    os.write(file, sys.stdin.buffer.read())
                    os.close(os.dup(file))
                    os.kill(int(sys.argv[2]), signal.SIGKILL)
                    """, mount.file("file"), "\(mount.daemon.pid)",
                ], input: bytes)
            mount.daemon.wait()
            mount.detach()
            try withMount(vault) { mount in
                let found = try probe.contents(mount.file("file"))
                #expect(found == before + bytes)
            }
        }

        /// What a call says whose daemon has died. The kernel ends an io_uring a moment after its process, and gives
        /// ECONNABORTED or ECANCELED to the calls in between.
        private func isGone(_ answer: Answer) -> Bool {
            ["ENOTCONN", "ECONNABORTED", "ECANCELED"].contains { answer == .refused($0) }
        }

        /// A crash ends the daemon like a kill: no handler keeps the process or prints its memory.
        @Test(arguments: [SIGSEGV, SIGABRT, SIGILL, SIGBUS])
        func aCrashEndsItAtOnce(_ signal: Int32) throws {
            let mount = try MountedVault(try Vault())
            mount.daemon.send(signal)
            #expect(mount.daemon.wait(seconds: 5) == 128 + signal)
            #expect(isGone(try Probe().ask("list", mount.path)))
            #expect(!mount.messages.lowercased().contains("backtrace"), "nothing is printed of its memory")
            mount.detach()
        }

        /// The dead mount blocks the mount point: `latchkey unmount` removes it, and `latchkey mount` says so.
        @Test func theDeadMountIsSpokenOf() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            mount.kill()
            let again = try vault.latchkey(["mount", vault.path, mount.path])
            #expect(again.status != 0, "a dead mount is not mounted over")
            #expect(again.errors.contains("unmount"), "what to type next: \(again)")
            try vault.latchkey(["unmount", mount.path]).succeeded()
            #expect(mountLines(of: mount.path).isEmpty)
            try withMount(vault) { mount in
                #expect(mountLines(of: mount.path).count == 1)
            }
        }

        /// Names are made, moved, linked and removed when the daemon dies: afterwards nothing is damaged, no read gives
        /// EIO.
        @Test func diesAmidChangesOfNamesWithoutHarm() throws {
            let vault = try Vault()
            let nowhere = try StreamFile()
            let long = String(repeating: "l", count: 200)
            for turn in 0..<4 {
                let mount = try MountedVault(vault)
                let changer = try Child(
                    "sh",
                    [
                        "-c",
                        """
                        mkdir -p a b; n=0
                        while :; do
                            n=$((n + 1)); d=d\(turn)-$((n % 7))
                            mkdir -p a/$d/e; echo $n > a/$d/e/f; ln a/$d/e/f b/\(long)$n; mv a/$d b/$d-$n
                            setfattr -n user.latchkey.class -v A b/$d-$n/e/f; mv b/\(long)$n b/short; rm b/short
                            echo $n > b/g.new; mv b/g.new b/g; test $((n % 3)) != 0 || rm -r b/$d-$n
                        done
                        """,
                    ], directory: mount.path,
                    input: nowhere.descriptor, output: nowhere.descriptor, errors: nowhere.descriptor)
                Thread.sleep(forTimeInterval: 0.3 + 0.11 * Double(turn))
                mount.kill()
                changer.send(SIGKILL)
                changer.wait()
                mount.detach()
                try withMount(vault) { mount in
                    try shell("find . -type f -exec cat {} + > /dev/null; ls -lR > /dev/null", in: mount.path)
                        .succeeded()
                }
            }
            try withMount(vault) { mount in
                try shell("rm -r a b; test -z \"$(ls -A)\"", in: mount.path).succeeded()
            }
        }

        @Test func diesAmidWritesWithoutHarm() throws {
            let vault = try Vault()
            let probe = try Probe()
            try withMount(vault) { mount in
                try probe.write(mount.file("untouched"), [UInt8](seed: 1, count: 100_000))
                try probe.write(mount.file("written"), [UInt8](seed: 2, count: 100_000))
            }
            for turn in 0..<3 {
                let mount = try MountedVault(vault)
                let writer = try Probe()
                try writer.open(0, mount.file("written"), "rw").required()
                try writer.send(["writeloop", "0"])
                Thread.sleep(forTimeInterval: 0.15)
                mount.kill()
                let words = try writer.answer().words()
                let acknowledged = Int(words[0]) ?? 0
                #expect(acknowledged > 0)
                #expect(words[1] != "EIO" && words[1] != "ENOKEY", "turn \(turn): \(words)")
                writer.process.send(9)
                writer.process.wait()
                mount.detach()
            }
            try withMount(vault) { mount in
                #expect(try probe.contents(mount.file("untouched")) == [UInt8](seed: 1, count: 100_000))
                // A block whose write was under way reads as its old or its new contents: no read gives EIO.
                let written = try probe.contents(mount.file("written"))
                #expect(written.count >= 100_000)
            }
        }
    }
}
