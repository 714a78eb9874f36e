import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// What the daemon's memory holds in which lock state: a lock removes the keys, not only the permission.
    @Suite struct Memory {
        private static let isRoot = geteuid() == 0

        /// Bytes that no other program's memory holds.
        private static func marked(_ seed: Int) -> [UInt8] {
            [UInt8](seed: seed, count: 64)
        }

        private func write(_ scene: Scene, _ name: String, _ protection: ProtectionClass, _ seed: Int) throws {
            try scene.makeFile(name, class: protection, [UInt8](repeating: 0x20, count: 3000))
            try scene.probe.open(seed, scene.path(name), "rw").required()
            // In both directions: written bytes and read bytes.
            for offset in stride(from: 0, to: 100_000, by: 1000) {
                try scene.probe.pwrite(seed, offset, Self.marked(seed)).required()
            }
            try scene.probe.ask("fsync", "\(seed)").required()
            try scene.probe.pread(seed, 0, 100_000).required()
        }

        @Test(.enabled(if: isRoot, "only root may look into the daemon's memory"))
        func theLockTakesTheKeysOut() throws {
            try withScene { scene in
                try write(scene, "strict", .complete, 1)
                try write(scene, "mail", .completeUnlessOpen, 2)
                try write(scene, "held", .completeUnlessOpen, 3)
                try write(scene, "plain", .completeUntilFirstUserAuthentication, 4)
                try scene.probe.close(2).required()
                let files = ["strict", "mail", "held", "plain"]
                let plaintexts = [Self.marked(1), Self.marked(2)]
                func found() throws -> Set<String> {
                    try MemoryScan.found(in: scene.mount, files: files, plaintexts: plaintexts)
                }

                let unlocked = try found()
                for key in ["class key A", "class key B", "class key C", "class key D", "file key strict"] {
                    #expect(unlocked.contains(key), "\(key): the search must find what is there")
                }
                #expect(!unlocked.contains("passcode"), "it is wiped once it has served")

                // The last cipher that is keyed before the lock: no later one overwrites it.
                try scene.probe.pwrite(1, 0, Array(Self.marked(1)[..<64])).required()
                try scene.mount.lockNow()
                let locked = try found()
                for key in ["class key C", "class key D", "file key held"] {
                    #expect(locked.contains(key), "\(key): the search must find what is there")
                }
                for secret in [
                    "class key A", "class key B", "file key strict", "file key mail", "plaintext 0", "plaintext 1",
                    "passcode", "recovery key", "recovery key's text",
                ] {
                    #expect(!locked.contains(secret), "\(secret) is in memory while locked")
                }

                // B's last close drops its file key, too.
                try scene.probe.close(3).required()
                #expect(try scene.probe.open(3, scene.path("held")) == .noKey)
                #expect(try !found().contains("file key held"), "after the last close")

                try scene.mount.unlock()
                #expect(try scene.probe.pread(1, 0, 64).bytes() == Self.marked(1))
                #expect(try found().contains("class key A"))
            }
        }

        /// A deep lock leaves class D alone, also of a mount that was locked before, and nothing of C in buffers.
        @Test(.enabled(if: isRoot, "only root may look into the daemon's memory"), arguments: [false, true])
        func aDeepLockTakesClassC(wasLocked: Bool) throws {
            try withScene { scene in
                try write(scene, "strict", .complete, 1)
                try write(scene, "held", .completeUnlessOpen, 2)
                try write(scene, "service", .completeUntilFirstUserAuthentication, 3)
                try write(scene, "closed", .completeUntilFirstUserAuthentication, 4)
                try write(scene, "open", .none, 5)
                try scene.probe.close(4).required()
                let files = ["strict", "held", "service", "closed", "open"]
                let plaintexts = [Self.marked(1), Self.marked(3), Self.marked(4)]
                func found() throws -> Set<String> {
                    try MemoryScan.found(in: scene.mount, files: files, plaintexts: plaintexts)
                }
                if wasLocked {
                    try scene.mount.lockNow()
                    // The last cipher that is keyed before the lock: no later one overwrites it.
                    try scene.probe.pwrite(3, 0, Array(Self.marked(3)[..<64])).required()
                    let locked = try found()
                    for key in ["class key C", "file key service"] {
                        #expect(locked.contains(key), "\(key): the search must find what is there")
                    }
                }
                try scene.mount.lockDeeply()
                let locked = try found()
                for key in ["class key D", "file key held", "file key open"] {
                    #expect(locked.contains(key), "\(key): the search must find what is there")
                }
                for secret in [
                    "class key A", "class key B", "class key C", "file key strict", "file key service",
                    "file key closed", "plaintext 0", "plaintext 1", "plaintext 2", "passcode", "recovery key",
                ] {
                    #expect(!locked.contains(secret), "\(secret) is in memory after a deep lock")
                }
                #expect(try scene.probe.pread(3, 0, 64) == .noKey)
                try scene.mount.unlock()
                #expect(try scene.probe.pread(3, 0, 64).bytes() == Self.marked(3))
                #expect(try found().contains("class key C"))
            }
        }

        /// The cipher leaves the end of its output in registers, which are saved on the stack now and then.
        @Test(
            .enabled(if: isRoot, "only root may look into the daemon's memory"),
            arguments: [500, 1000, 1500, 2080, 84_000])
        func whatWasReadDoesNotLinger(count: Int) throws {
            try withScene { scene in
                let contents = (0..<count).map { _ in UInt8.random(in: 0...255) }
                try scene.makeFile("strict", class: .complete, [0x20])
                try scene.probe.open(1, scene.path("strict"), "rw").required()
                try scene.probe.pwrite(1, 0, contents).required()
                // From the vault again, bypassing the page cache.
                try scene.mount.lockNow()
                try scene.mount.unlock()
                #expect(try scene.probe.contents(scene.path("strict")) == contents)
                let pieces = stride(from: count / 4096 * 4096, to: count - 15, by: 16).map {
                    Array(contents[$0..<$0 + 16])
                }
                try scene.mount.lockNow()
                #expect(
                    try MemoryScan.found(in: scene.mount, plaintexts: pieces).filter { $0.hasPrefix("plaintext") } == []
                )
            }
        }

        @Test(.enabled(if: isRoot, "only root may look into the daemon's memory"))
        func beforeTheFirstUnlockThereIsOnlyD() throws {
            try withScene(unlocked: false) { scene in
                let found = try MemoryScan.found(in: scene.mount)
                #expect(found.contains("class key D"))
                for secret in ["class key A", "class key B", "class key C", "passcode", "recovery key"] {
                    #expect(!found.contains(secret), "\(secret)")
                }
            }
        }

        /// A passcode, old or new, and a recovery key do not stay in memory after use.
        @Test(.enabled(if: isRoot, "only root may look into the daemon's memory"))
        func whatWasTypedDoesNotLinger() throws {
            try withScene(unlocked: false) { scene in
                let vault = scene.mount.vault
                let wrong = try vault.folder.write(Vault.passcode, to: "same")
                try scene.mount.unlock()
                try scene.mount.lockNow()
                try scene.mount.latchkey(
                    "unlock", scene.mount.path, "--recovery", "--recovery-key-file", vault.recoveryKeyFile
                ).succeeded()
                try scene.mount.latchkey(
                    "passwd", scene.mount.path, "--passcode-file", vault.passcodeFile, "--new-passcode-file", wrong
                ).succeeded()
                let found = try MemoryScan.found(in: scene.mount)
                for secret in ["passcode", "recovery key", "recovery key's text"] {
                    #expect(!found.contains(secret), "\(secret)")
                }
            }
        }

        /// Nor does the result of measuring a new passcode's strength: hashes of its parts, which could be guessed one
        /// by one, and the cost of guessing those.
        @Test(.enabled(if: isRoot, "only root may look into the daemon's memory"))
        func whatIsFoundInANewPasscodeDoesNotLinger() throws {
            try withScene(unlocked: false) { scene in
                let vault = scene.mount.vault
                let text = "tundra 1987 quorum velvet"
                let new = try vault.folder.write(text, to: "new")
                try scene.mount.latchkey(
                    "passwd", scene.mount.path, "--passcode-file", vault.passcodeFile, "--new-passcode-file", new
                ).succeeded()
                // The scan opens the vault, too.
                _ = try vault.folder.write(text, to: "passcode")
                let bytes = Array(text.utf8)
                // FNV-1a; shorter ones may be those of a common word.
                var patterns = (0...bytes.count - 6).flatMap { begin in
                    (begin + 6...bytes.count).map { end in
                        bytes[begin..<end].reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
                            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
                        }
                    }
                }
                // The years from 1987 to the one that counts as now.
                patterns.append(log10(39.0).bitPattern)
                let found = try MemoryScan.found(
                    in: scene.mount,
                    plaintexts: patterns.map { pattern in (0..<8).map { UInt8(truncatingIfNeeded: pattern >> (8 * $0)) }
                    })
                #expect(!found.contains { $0.hasPrefix("plaintext") }, "\(found)")
                #expect(!found.contains("passcode"))
            }
        }
    }
}
