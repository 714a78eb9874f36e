import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A mount on which open(2) and read(2) of locked files wait for the unlock.
    @Suite(.enabled(if: geteuid() == 0, "the daemon has to see in which call a program waits")) struct Freeze {
        private static let contents = [UInt8](seed: 1, count: 100_000)

        /// A file of class A, opened as handle 0 before the lock; and another probe, which never waits.
        private func withLockedFile(
            _ options: [String] = [], class protection: ProtectionClass = .complete, isOpen: Bool = true,
            _ body: (Scene, Probe) throws -> Void
        ) throws {
            try withScene(options: ["--when-locked", "freeze"] + options) { scene in
                let other = try Probe()
                defer {
                    other.process.send(SIGKILL)
                    other.process.wait()
                }
                try scene.makeFolder("folder", class: protection)
                try scene.makeFile("folder/file", Self.contents)
                if isOpen { try scene.probe.open(0, scene.path("folder/file"), "rw").required() }
                try scene.mount.lock(closing: protection)
                try body(scene, other)
            }
        }

        /// Returns when so many requests wait.
        private func until(waiting count: Int, _ mount: MountedVault) throws {
            let end = ContinuousClock.now + .seconds(20)
            while try mount.status().waitingRequests != count {
                guard ContinuousClock.now < end else {
                    throw HarnessError("\(try mount.status().waitingRequests ?? -1) wait, not \(count)")
                }
            }
        }

        /// A waiting call holds nothing that others need: neither the file nor its folder.
        private func expectOthersGoOn(_ scene: Scene, _ other: Probe) throws {
            #expect(try other.list(scene.path("folder")).contains("file"))
            #expect(try other.ask("stat", scene.path("folder/file")).succeeded)
            #expect(try other.ask("chmod", scene.path("folder/file"), "0640").succeeded)
            #expect(try other.ask("mkdir", scene.path("folder/new"), "0755").succeeded)
            #expect(try other.ask("rmdir", scene.path("folder/new")).succeeded)
            #expect(try other.rename(scene.path("folder/file"), scene.path("folder/renamed")).succeeded)
            #expect(try other.rename(scene.path("folder/renamed"), scene.path("folder/file")).succeeded)
            #expect(try other.ask("link", scene.path("folder/file"), scene.path("folder/link")).succeeded)
            #expect(try other.ask("unlink", scene.path("folder/link")).succeeded)
            try run("sync", [], within: 20)
        }

        @Test(
            arguments: ["r", "rw", "rw,creat", "rw,trunc"],
            [ProtectionClass.complete, .completeUnlessOpen, .completeUntilFirstUserAuthentication])
        func anOpenWaits(_ flags: String, _ protection: ProtectionClass) throws {
            try withLockedFile(class: protection, isOpen: false) { scene, other in
                let call = ["open", "1", scene.path("folder/file"), flags, "420"]
                try scene.probe.send(call)
                try until(waiting: 1, scene.mount)
                try expectOthersGoOn(scene, other)
                try scene.mount.unlock()
                try scene.probe.answer(to: call).required()
                let isTruncated = flags.contains("trunc")
                #expect(try scene.probe.pread(1, 0, 1 << 20).bytes() == (isTruncated ? [] : Self.contents))
                #expect(try scene.mount.status().waitingRequests == 0)
            }
        }

        @Test(arguments: [ProtectionClass.complete, .completeUntilFirstUserAuthentication])
        func aReadWaits(_ protection: ProtectionClass) throws {
            try withLockedFile(class: protection) { scene, other in
                for call in [["pread", "0", "5000", "200"], ["read", "0", "200"], ["pread", "0", "99999999", "1"]] {
                    try scene.probe.send(call)
                    try until(waiting: 1, scene.mount)
                    try expectOthersGoOn(scene, other)
                    try scene.mount.unlock()
                    let start = call[0] == "read" ? 0 : min(Int(call[2])!, Self.contents.count)
                    let end = min(start + Int(call.last!)!, Self.contents.count)
                    #expect(try scene.probe.answer(to: call).bytes() == Array(Self.contents[start..<end]))
                    // Pages that are cached now must be gone at the next lock.
                    try scene.mount.lock(closing: protection)
                }
                try scene.mount.unlock()
            }
        }

        /// A file may be removed while another program waits for its contents.
        @Test func aWaitingCallDoesNotPreventTheRemovalOfTheFile() throws {
            try withLockedFile { scene, other in
                try scene.probe.send(["pread", "0", "0", "3"])
                try until(waiting: 1, scene.mount)
                try other.ask("unlink", scene.path("folder/file")).required()
                #expect(try !other.exists(scene.path("folder/file")))
                try scene.mount.unlock()
                #expect(try scene.probe.answer().bytes() == Array(Self.contents[..<3]))
            }
        }

        /// Calls that are refused, because their wait would block others or the kernel sends them too late.
        @Test func whatCannotWaitIsRefused() throws {
            try withLockedFile { scene, _ in
                let probe = scene.probe
                #expect(try probe.pwrite(0, 0, [1]) == .noKey)
                #expect(try probe.ask("lseek", "0", "0", "end") == .noKey)
                #expect(try probe.ask("lseek", "0", "0", "data") == .noKey)
                #expect(try probe.ask("ftruncate", "0", "5") == .noKey)
                #expect(try probe.ask("truncate", scene.path("folder/file"), "5") == .noKey)
                #expect(try probe.ask("fallocate", "0", "0", "0", "5") == .noKey)
                #expect(try probe.open(2, scene.path("folder/new"), "rw,creat") == .noKey)
                try probe.map(0, 0, 4096).required()
                #expect(try probe.touch(0, 0, 1) == .bus)
                #expect(try probe.setClass("none", of: scene.path("folder/file")) == .noKey)
                #expect(try scene.mount.status().waitingRequests == 0)
                try scene.mount.unlock()
                #expect(try scene.contents("folder/file") == Self.contents)
            }
        }

        @Test(arguments: [["pread", "0", "0", "3"], ["open", "1", "folder/file", "r", "420"]])
        func aWaitingProcessCanBeKilled(_ call: [String]) throws {
            try withLockedFile { scene, other in
                try scene.probe.send(call.map { $0.contains("/") ? scene.path($0) : $0 })
                try until(waiting: 1, scene.mount)
                scene.probe.process.send(SIGKILL)
                #expect(scene.probe.process.wait(seconds: 10) == 128 + SIGKILL)
                try until(waiting: 0, scene.mount)
                try scene.mount.unlock()
                #expect(try other.contents(scene.path("folder/file")) == Self.contents)
            }
        }

        @Test func afterTheTimeoutItIsRefused() throws {
            try withLockedFile(["--freeze-timeout", "1"]) { scene, other in
                #expect(try scene.probe.pread(0, 0, 3) == .noKey)
                #expect(try other.open(0, scene.path("folder/file")) == .noKey)
                // The timeout of one call does not affect the next.
                try scene.probe.send(["pread", "0", "0", "3"])
                try until(waiting: 1, scene.mount)
                try scene.mount.unlock()
                #expect(try scene.probe.answer().bytes() == Array(Self.contents[..<3]))
            }
        }

        @Test func beforeTheFirstUnlockClassCWaits() throws {
            let vault = try Vault(["--default-class", "complete-until-first-user-authentication"])
            try withScene(in: vault) { try $0.makeFile("file", Self.contents) }
            try withScene(in: vault, unlocked: false, options: ["--when-locked", "freeze"]) { scene in
                try scene.probe.send(["open", "0", scene.path("file"), "r", "0"])
                try until(waiting: 1, scene.mount)
                try scene.mount.unlock()
                try scene.probe.answer().required()
                #expect(try scene.probe.pread(0, 0, 1 << 20).bytes() == Self.contents)
            }
        }

        /// Also calls that wait in several programs, across more than one lock.
        @Test func manyWait() throws {
            try withLockedFile(isOpen: false) { scene, _ in
                let probes = try (0..<20).map { _ in try Probe() }
                defer {
                    for probe in probes {
                        probe.process.send(SIGKILL)
                        probe.process.wait()
                    }
                }
                for round in 1...3 {
                    for probe in probes { try probe.send(["open", "\(round)", scene.path("folder/file"), "r", "0"]) }
                    try until(waiting: 20, scene.mount)
                    try scene.mount.unlock()
                    for probe in probes { try probe.answer().required() }
                    for probe in probes {
                        #expect(try probe.pread(round, 0, 1 << 20).bytes() == Self.contents)
                    }
                    try scene.mount.lockNow()
                    for probe in probes { try probe.send(["pread", "\(round)", "0", "3"]) }
                    try until(waiting: 20, scene.mount)
                    try scene.mount.unlock()
                    for probe in probes { #expect(try probe.answer().bytes() == Array(Self.contents[..<3])) }
                    try scene.mount.lockNow()
                }
                try scene.mount.unlock()
            }
        }

        /// After a lazy unmount no unlock can come any more: waiting calls get an error.
        @Test func aLazyUnmountRefusesThem() throws {
            let vault = try Vault(["--default-class", "complete"])
            let mount = try MountedVault(vault, options: ["--when-locked", "freeze"])
            let probe = try Probe()
            defer {
                probe.process.send(SIGKILL)
                probe.process.wait()
            }
            try probe.write(mount.file("file"), [1, 2, 3])
            try probe.open(0, mount.file("file")).required()
            try mount.lockNow()
            try probe.send(["pread", "0", "0", "3"])
            try until(waiting: 1, mount)
            mount.daemon.send(SIGTERM)
            #expect(try probe.answer() == .noKey)
            probe.process.send(SIGKILL)
            probe.process.wait()
            mount.expectEnded(status: 0)
        }

        @Test func theStatusSaysIt() throws {
            try withLockedFile(["--freeze-timeout", "60"]) { scene, _ in
                try scene.probe.send(["pread", "0", "0", "3"])
                try until(waiting: 1, scene.mount)
                let text = try scene.mount.latchkey("status", scene.mount.path).succeeded().text
                #expect(text.contains("when locked  open and read wait for the unlock, 60 s at most: 1 now"), "\(text)")
                let status = try scene.mount.status()
                #expect(status.whenLocked == "freeze")
                #expect(status.freezeTimeout == 60)
                try scene.mount.unlock()
                try scene.probe.answer().required()
            }
            try withScene { scene in
                let status = try scene.mount.status()
                #expect(status.whenLocked == "fail")
                #expect(status.freezeTimeout == nil)
            }
        }

        @Test func theOptionsGoTogether() throws {
            let vault = try Vault()
            let folder = vault.folder.path("point")
            unsafe mkdir(folder, 0o755)
            for options in [["--freeze-timeout", "5"], ["--when-locked", "freeze", "--freeze-timeout", "0"]] {
                let outcome = try vault.latchkey(["mount", vault.path, folder] + options)
                #expect(outcome.status == 2, "\(outcome)")
                #expect(outcome.errors.contains("--freeze-timeout"), "\(outcome)")
            }
        }
    }
}
