import Foundation
import TestSupport
import Testing

extension MountTests {
    /// `latchkey info`: what a vault is, without a passcode.
    @Suite struct InfoCommand {
        private func info(_ vault: Vault, _ path: String, status: Int32 = 0) throws -> [String: Any] {
            let outcome = try vault.latchkey(["info", "--json", path])
            #expect(outcome.status == status, "\(outcome)")
            return try #require(try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any])
        }

        private func part(_ facts: [String: Any], _ name: String) throws -> [String: Any] {
            try #require(facts[name] as? [String: Any], "\(name): \(facts)")
        }

        @Test func unmountedAndMounted() throws {
            let vault = try Vault(["--default-class", "complete", "--erase-after", "5"])
            let wrong = try vault.folder.write("wrong", to: "wrong")
            #expect(try vault.latchkey(["slot", "test", "--passcode-file", wrong, vault.path]).status == 3)
            let before = Disk.tree(vault.path)
            let facts = try info(vault, vault.path)
            #expect(Disk.tree(vault.path) == before)
            let file = try vault.deviceKeyFile()
            let volume = String(hexadecimal: try Disk.read(vault.keybag)[28..<44])
            #expect(facts["vault"] as? String == vault.path && facts["mountPoint"] == nil)
            #expect(facts["volume"] as? String == volume && facts["formatVersion"] as? Int == 1)
            #expect(facts["defaultClass"] as? String == "complete" && facts["isVerified"] as? Bool == true)
            #expect(facts["eraseAfter"] as? Int == 5 && facts["reason"] == nil)
            let guesses = try part(facts, "guesses")
            #expect(guesses["left"] as? Int == 4 && guesses["limit"] as? Int == 5)
            let key = try part(facts, "deviceKey")
            #expect(key["file"] as? String == file && key["kind"] as? String == "software")
            #expect(key["isThere"] as? Bool == true)
            let slots = try #require(facts["slots"] as? [[String: Any]])
            #expect(slots.map { $0["kind"] as? String } == ["passcode", "recovery-key"])
            let cost = try part(slots[0], "argon2id")
            #expect(cost["memoryKiB"] as? Int == 19 << 10 && cost["passes"] as? Int == 2)
            #expect(slots[1]["argon2id"] == nil && slots[1]["isPortable"] as? Bool == true)

            try withMount(vault, unlocked: false) { mount in
                try mount.latchkey("class", "set", "C", mount.path).succeeded()
                for path in [vault.path, mount.path] {
                    let mounted = try info(vault, path)
                    #expect(mounted["vault"] as? String == vault.path, "\(mounted)")
                    #expect(mounted["mountPoint"] as? String == mount.path && mounted["isVerified"] as? Bool == true)
                    #expect(mounted["defaultClass"] as? String == "complete-until-first-user-authentication")
                    #expect(try part(mounted, "guesses")["left"] as? Int == 4)
                    let journal = try part(mounted, "journal")
                    #expect(journal["isClean"] == nil && (journal["bytes"] as? Int ?? 0) > 4096, "\(journal)")
                    #expect(try part(mounted, "claim")["state"] as? String == "held")
                }
            }
            let journal = try part(try info(vault, vault.path), "journal")
            #expect(journal["isClean"] as? Bool == true && journal["isVerified"] as? Bool == true)
            let claim = try part(try info(vault, vault.path), "claim")
            #expect(claim["state"] as? String == "released" && claim["isThisMachine"] as? Bool == true, "\(claim)")
            #expect(claim["host"] as? String == ProcessInfo.processInfo.hostName, "\(claim)")

            let text = try vault.latchkey(["info", vault.path]).succeeded().text
            for words in [
                "AES-256-GCM for contents", "19.0 MiB, 2 passes", "4 of 5 attempts left", "closed cleanly", file,
                "yes, with the device key", "released by this machine, ",
            ] { #expect(text.contains(words), "\(words): \(text)") }
        }

        @Test func withoutTheDeviceKey() throws {
            let vault = try Vault()
            let file = try vault.deviceKeyFile()
            try shell("mv '\(file)' '\(file).away'", in: "/").succeeded()
            let facts = try info(vault, vault.path)
            #expect(facts["isVerified"] as? Bool == false && facts["reason"] != nil && facts["defaultClass"] == nil)
            #expect(facts["claim"] == nil, "never mounted")
            #expect(try part(facts, "deviceKey")["isThere"] as? Bool == false)
            #expect((facts["slots"] as? [Any])?.count == 2)
            let text = try vault.latchkey(["info", vault.path]).succeeded().text
            #expect(text.contains("no: the device key is not there") && text.contains("missing: "), "\(text)")
            let elsewhere = try vault.latchkey(["info", "--json", "--device-key", file + ".away", vault.path])
            #expect(try elsewhere.succeeded().text.contains("\"isVerified\" : true"), "\(elsewhere)")
        }

        @Test func aJournalThatACrashHasLeft() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            try shell("echo x > file", in: mount.path).succeeded()
            mount.kill()
            mount.detach()
            let journal = try part(try info(vault, vault.path), "journal")
            #expect(journal["isClean"] as? Bool == false && journal["isVerified"] as? Bool == true, "\(journal)")
            let text = try vault.latchkey(["info", vault.path]).succeeded().text
            #expect(text.contains("not closed cleanly"), "\(text)")
            #expect(text.contains("left by a daemon of this machine that has ended"), "\(text)")
            try Disk.edit(vault.path + "/lk.journal") { $0[57] ^= 1 }
            #expect(try part(try info(vault, vault.path), "journal")["isVerified"] as? Bool == false)
        }

        /// What an attacker writes into the folder is told apart from what the device key confirms.
        @Test func aChangedKeybag() throws {
            let vault = try Vault()
            try Disk.edit(vault.keybag) { $0[44] ^= 1 }
            let outcome = try vault.latchkey(["info", vault.path])
            #expect(outcome.status == 6 && outcome.text.contains("verified"), "\(outcome)")
            #expect(!outcome.text.contains("yes, with the device key"), "\(outcome)")
            #expect(try info(vault, vault.path, status: 6)["isVerified"] as? Bool == false)
        }

        @Test func lostAndErased() throws {
            let vault = try Vault()
            try withMount(vault) { _ in }
            let keybag = try Disk.read(vault.keybag)
            try shell("rm '\(vault.keybag)'", in: "/").succeeded()
            let lost = try vault.latchkey(["info", vault.path])
            #expect(lost.status == 5 && lost.errors.contains("has no keybag any more"), "\(lost)")
            try Disk.write(keybag, to: vault.keybag)
            try vault.latchkey(["erase", "--yes", vault.path]).succeeded()
            let erased = try vault.latchkey(["info", vault.path])
            #expect(erased.status == 5 && erased.errors.contains("was erased on"), "\(erased)")
            #expect(try vault.latchkey(["info", vault.folder.path("")]).status == 5)
        }
    }
}
