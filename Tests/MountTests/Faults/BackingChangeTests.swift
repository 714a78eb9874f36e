import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Another program removes, replaces or truncates backing files under a live mount: those files alone get errors,
    /// and no read returns a byte of another file.
    @Suite struct BackingChanges {
        private static let other = [UInt8](seed: 1, count: 20_000)

        /// The errors that a program may get for a file whose backing file was removed or changed.
        private static let refusals: Set<String> = ["ESTALE", "ENOENT", "EIO"]

        @Test func filesAlone() throws {
            let vault = try Vault()
            var backing: [String: String] = [:]
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                defer { scene.endProbe() }
                try scene.makeFile("other", Self.other)
                for victim in Victim.all { try scene.makeFile(victim.name, victim.contents) }
                for name in ["other"] + Victim.all.map(\.name) { backing[name] = try mount.backingPath(name) }
            }
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                defer { scene.endProbe() }
                for victim in Victim.all {
                    let path = scene.path(victim.name)
                    switch victim.knowledge {
                    case .unknown: break
                    case .known: #expect(try scene.probe.size(path) == 20_000)
                    case .open, .written:
                        try scene.probe.open(0, path, "rw").required()
                        #expect(try scene.probe.pread(0, 0, 4096).bytes() == Array(victim.contents[..<4096]))
                        if victim.knowledge == .written {
                            try scene.probe.pwrite(0, 4096, Array(victim.contents[4096..<5000])).required()
                        }
                    }
                    try victim.damage.happen(to: backing[victim.name]!, other: backing["other"]!)
                    try use(victim, in: scene, isOpen: victim.knowledge == .open || victim.knowledge == .written)
                    try expectOthersUnharmed(in: scene, "\(victim.name)")
                }
                try scene.probe.ask("list", mount.path).required("a listing")
                try scene.mount.lockNow()
                try scene.mount.unlock()
                try expectOthersUnharmed(in: scene, "after a lock")
            }
            // The untouched files look the same to the next daemon and to fsck.
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                defer { scene.endProbe() }
                #expect(try scene.contents("other") == Self.other)
            }
            let found = try vault.latchkey(["fsck", "--json", vault.path, "--passcode-file", vault.passcodeFile])
            #expect([0, 6].contains(found.status), "\(found)")
        }

        /// Every call on the file is answered, with the old contents or an error.
        private func use(_ victim: Victim, in scene: Scene, isOpen: Bool) throws {
            let (probe, path) = (scene.probe, scene.path(victim.name))
            func expect(_ answer: Answer, _ call: String, bytes: ClosedRange<Int>? = nil) throws {
                guard answer.succeeded else {
                    guard case .refused(let errno) = answer else { return }
                    // The metadata of a device node or link itself, once the kernel knows the type.
                    let isNode = [.replacedByFIFO, .replacedByLink].contains(victim.damage)
                    #expect(
                        Self.refusals.contains(errno) || isNode && ["ENODATA", "EPERM", "EINVAL"].contains(errno),
                        "\(victim.name): \(call) says \(errno)")
                    return
                }
                guard let bytes else { return }
                #expect(
                    try answer.bytes() == Array(victim.contents[bytes]), "\(victim.name): \(call) shows something else")
            }
            if isOpen {
                try expect(probe.pread(0, 0, 4096), "a read of what was read", bytes: 0...4095)
                try expect(probe.pread(0, 8192, 4096), "a read", bytes: 8192...12_287)
                try expect(probe.pwrite(0, 4096, Array(victim.contents[4096..<8192])), "a write")
                try expect(probe.pread(0, 4096, 4096), "a read of what was written", bytes: 4096...8191)
                try expect(probe.ask("fdatasync", "0"), "fdatasync")
                try expect(probe.fsync(0), "fsync")
                try expect(probe.ask("ftruncate", "0", "20000"), "ftruncate")
                _ = try probe.close(0)
            }
            let status = try probe.ask("stat", path)
            try expect(status, "stat")
            if status.succeeded, try !status.words()[0].hasPrefix("100") {
                // FIFOs and links are not authenticated, except for a link's target.
                #expect([.replacedByFIFO, .replacedByLink].contains(victim.damage), "\(victim.name): \(status)")
                if victim.damage == .replacedByLink { #expect(try probe.ask("readlink", path) == .refused("EIO")) }
                return
            }
            // An open of a FIFO waits for a writer.
            if victim.damage != .replacedByFIFO {
                let opened = try probe.open(1, path, "r")
                try expect(opened, "open")
                if opened.succeeded { try expect(probe.pread(1, 0, 4096), "a read", bytes: 0...4095) }
                _ = try probe.close(1)
            }
            try expect(probe.ask("getxattr", path, Probe.classAttribute), "getxattr")
            try expect(probe.ask("chmod", path, "0600"), "chmod")
            try expect(probe.ask("utimens", path, "1000000000000000000"), "utimens")
            try expect(probe.ask("truncate", path, "20000"), "truncate")
            try expect(probe.setClass("complete", of: path), "a change of class")
            try expect(probe.ask("link", path, path + "-link"), "link")
            try expect(probe.rename(path, path + "-moved"), "rename")
            try expect(probe.rename(path + "-moved", path), "rename back")
        }

        private func expectOthersUnharmed(in scene: Scene, _ when: String) throws {
            #expect(try scene.contents("other") == Self.other, "\(when)")
            try scene.makeFile("fresh", [1, 2, 3])
            try scene.rename("fresh", "fresher").required("\(when): a rename")
            #expect(try scene.contents("fresher") == [1, 2, 3], "\(when)")
            try scene.probe.ask("unlink", scene.path("fresher")).required("\(when): an unlink")
        }

    }
}
