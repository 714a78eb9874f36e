import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The backing store has no room left: ENOSPC, and existing contents stay.
    @Suite struct FullDisk {
        /// A small file system of its own, so that filling it affects no other test.
        private func withSmallDisk(_ body: (TemporaryFolder) throws -> Void) throws {
            guard geteuid() == 0 else {
                Issue.record("not root: the test of a full disk needs to mount a small tmpfs")
                return
            }
            let outer = try TemporaryFolder()
            let disk = try outer.makeFolder("disk")
            try run("mount", ["-t", "tmpfs", "-o", "size=6m", "small", disk]).succeeded()
            defer { unsafe umount2(disk, Int32(MNT_DETACH)) }
            try body(try TemporaryFolder(in: disk))
        }

        @Test func nothingIsLost() throws {
            try withSmallDisk { folder in
                let vault = try Vault(in: folder)
                let kept = [UInt8](seed: 1, count: 500_000)
                let probe = try Probe()
                try withMount(vault) { mount in
                    try probe.write(mount.file("kept"), kept)
                    try probe.open(0, mount.file("big"), "rw,creat").required()
                    var written = 0
                    var refusal: Answer = .ok()
                    while written < 20 << 20 {
                        let answer = try probe.ask("fill", "0", "\(written)", "65536", "7")
                        guard answer.succeeded else {
                            refusal = answer
                            break
                        }
                        written += try answer.number()
                    }
                    #expect(refusal == .refused("ENOSPC"))
                    #expect(try probe.contents(mount.file("kept")) == kept)
                    let synced = try probe.fsync(0)
                    #expect(synced.succeeded || synced == .refused("ENOSPC"), "\(synced)")
                    _ = try probe.close(0)

                    let refused = try probe.open(0, mount.file("another"), "rw,creat")
                    if refused.succeeded {
                        #expect(try probe.ask("fill", "0", "0", "1000000", "7") != .ok("1000000"))
                        _ = try probe.close(0)
                    } else {
                        #expect(refused == .refused("ENOSPC"))
                        #expect(try !probe.exists(mount.file("another")))
                    }
                    // Once there is room again, everything works again.
                    try probe.ask("unlink", mount.file("big")).required("unlink on a full disk")
                    _ = try probe.ask("unlink", mount.file("another"))
                    try probe.write(mount.file("after"), [UInt8](seed: 2, count: 300_000))
                }
                try withMount(vault) { mount throws in
                    #expect(try probe.contents(mount.file("kept")) == kept)
                    #expect(try probe.contents(mount.file("after")) == [UInt8](seed: 2, count: 300_000))
                    #expect(try probe.list(mount.path) == ["after", "kept"])
                }
            }
        }

        /// The keybag is replaced atomically: if there is no room for the new one, the old one stays.
        @Test func passwdOnAFullDisk() throws {
            try withSmallDisk { folder in
                let vault = try Vault(in: folder)
                let new = try folder.write("another passcode", to: "new")
                let filling = try attemptShell("dd if=/dev/zero of=filler bs=4k", in: folder.path)
                #expect(filling.status == 1 && filling.errors.contains("No space left"), "\(filling)")
                let outcome = try vault.latchkey(
                    ["passwd", vault.path, "--passcode-file", vault.passcodeFile, "--new-passcode-file", new])
                try run("rm", [folder.path("filler")]).succeeded()
                let passcode = outcome.status == 0 ? new : vault.passcodeFile
                try withMount(vault, unlocked: false) { mount in
                    try mount.latchkey("unlock", mount.path, "--passcode-file", passcode).succeeded()
                }
            }
        }
    }
}
