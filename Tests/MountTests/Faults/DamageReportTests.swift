import Foundation
import TestSupport
import Testing

extension MountTests {
    /// What a user finds out after a program got EIO.
    @Suite struct DamageReports {
        private struct Explained: Decodable {
            struct Damage: Decodable {
                var reasons: [String]
                var refusals: Int
                var first: Double
                var last: Double
                var isWhole: Bool
            }
            struct Action: Decodable {
                var name: String
                var allowed: Bool
                var reason: String?
            }
            var `class`: String?
            var backingPath: String
            var actions: [Action]
            var damage: Damage?
        }

        private struct Found: Decodable {
            struct Refusals: Decodable {
                var count: Int
                var lastReason: String
                var last: Double
            }
            var refusals: Refusals?
            var logFile: String?
        }

        private func explain(_ vault: Vault, _ path: String) throws -> Explained {
            let outcome = try vault.latchkey(["explain", "--json", path]).succeeded()
            return try #require(JSONDecoder().decode([Explained].self, from: Data(outcome.output)).first)
        }

        private func status(_ vault: Vault, _ mount: MountedVault) throws -> Found {
            let outcome = try vault.latchkey(["status", "--json", mount.path]).succeeded()
            return try JSONDecoder().decode(Found.self, from: Data(outcome.output))
        }

        private func expectRefused(_ name: String, in folder: String) throws {
            #expect(try shell("cat \(name) > /dev/null || echo refused", in: folder).text == "refused\n")
        }

        @Test func ofABlock() throws {
            let vault = try Vault()
            try withMount(vault) { mount in
                let file = mount.file("secret-name")
                try Disk.write([UInt8](repeating: 1, count: 20_000), to: file)
                #expect(try explain(vault, file).damage == nil)
                #expect(try status(vault, mount).refusals == nil)
            }
            try withMount(vault) { mount in
                let file = mount.file("secret-name")
                try BackingFile(try explain(vault, file).backingPath).edit { $0[512 + 4128 + 100] ^= 1 }
                for _ in 0..<2 { try expectRefused("secret-name", in: mount.path) }

                let found = try explain(vault, file)
                let damage = try #require(found.damage)
                #expect(damage.reasons == ["block 1 does not verify"], "\(damage)")
                #expect(damage.refusals >= 2 && damage.first <= damage.last && !damage.isWhole)
                #expect(found.class != nil)
                let text = try vault.latchkey(["explain", file]).succeeded().text
                #expect(text.contains("parts cannot be read: \(damage.reasons[0])"), "\(text)")
                #expect(text.contains("noticed ") && text.contains("try: latchkey fsck --unlock \(vault.path)"))

                let refusals = try #require(try status(vault, mount).refusals)
                #expect(refusals.count >= 2 && refusals.lastReason == damage.reasons[0])
                let shown = try vault.latchkey(["status", mount.path]).succeeded().text
                #expect(shown.contains("refused since the mount,") && shown.contains(damage.reasons[0]), "\(shown)")
            }
        }

        /// A program cannot even open the file, nor explain(1) itself.
        @Test(arguments: [true, false]) func ofAHeader(_ wasLookedUp: Bool) throws {
            let vault = try Vault()
            let probe = try Probe()
            var backing = ""
            try withMount(vault) { mount in
                try Scene(mount: mount, probe: probe).makeFile("file", class: .complete)
                backing = try explain(vault, mount.file("file")).backingPath
            }
            try withMount(vault) { mount in
                if wasLookedUp { _ = try shell("stat file", in: mount.path).succeeded() }
                try BackingFile(backing).edit { $0[100] ^= 1 }
                let found = try explain(vault, mount.file("file"))
                let damage = try #require(found.damage)
                #expect(damage.isWhole && damage.reasons == ["the header was changed"], "\(damage)")
                #expect(found.backingPath == backing)
                #expect(!found.actions.contains { $0.name == "open" && $0.allowed })
                let text = try vault.latchkey(["explain", mount.file("file")]).succeeded().text
                #expect(text.contains("it cannot be read: the header was changed"), "\(text)")
                #expect(text.contains(backing))
                #expect(try #require(try status(vault, mount).refusals).count > 0)

                // Back from a backup.
                try BackingFile(backing).edit { $0[100] ^= 1 }
                try shell("cat file", in: mount.path).succeeded()
                #expect(try explain(vault, mount.file("file")).damage?.isWhole != true)
            }
        }

        @Test func ofAFoldersRecord() throws {
            let vault = try Vault()
            var backing = ""
            try withMount(vault) { mount in
                try shell("mkdir folder && touch folder/file", in: mount.path).succeeded()
                backing = try explain(vault, mount.file("folder")).backingPath
            }
            try FileManager.default.removeItem(atPath: backing + "/lk.dir")
            try withMount(vault) { mount in
                let found = try explain(vault, mount.file("folder"))
                #expect(found.damage?.reasons == ["the directory record is missing"], "\(found)")
                #expect(found.damage?.isWhole == true)
            }
        }

        /// Of a daemon in the background, where the system has no log.
        @Test func theLogFile() throws {
            let vault = try Vault()
            let point = try vault.folder.makeFolder("point")
            func mount() throws {
                try vault.latchkey([
                    "mount", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, point,
                ]).succeeded()
            }
            try mount()
            defer { _ = try? vault.latchkey(["unmount", point]) }
            let outcome = try vault.latchkey(["status", "--json", point]).succeeded()
            guard let log = try JSONDecoder().decode(Found.self, from: Data(outcome.output)).logFile else {
                #expect(FileManager.default.fileExists(atPath: "/dev/log"))
                return
            }
            try shell("echo a > secret-name", in: point).succeeded()
            let backing = try explain(vault, point + "/secret-name").backingPath
            try vault.latchkey(["unmount", point]).succeeded()
            try BackingFile(backing).edit { $0[512 + 10] ^= 1 }
            try mount()
            try expectRefused("secret-name", in: point)
            try vault.latchkey(["unmount", point]).succeeded()
            let text = String(decoding: try Disk.read(log), as: UTF8.self)
            #expect(text.contains(" notice: mounted at="), "\(text)")
            let stored = try #require(backing.split(separator: "/").last)
            #expect(text.contains(" refused reason=block 0 does not verify stored=\(stored)\n"), "\(text)")
            #expect(!text.contains("secret-name"))
            let mode = try FileManager.default.attributesOfItem(atPath: log)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }
}
