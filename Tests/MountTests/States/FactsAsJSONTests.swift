import Foundation
import TestSupport
import Testing

extension MountTests {
    /// `--json` on the commands that print facts: one document, with the documented fields.
    @Suite struct FactsAsJSON {
        private func object(_ outcome: Outcome) throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any])
        }

        private func list(_ outcome: Outcome) throws -> [[String: Any]] {
            try #require(try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [[String: Any]])
        }

        @Test func classes() throws {
            try withMount(Vault()) { mount in
                try shell("echo a > a; mkdir -p f/g", in: mount.path)
                let set = try object(mount.latchkey("class", "set", "--json", "A", mount.file("a")).succeeded())
                #expect(set["class"] as? String == "complete" && set["count"] as? Int == 1, "\(set)")
                let below = try object(mount.latchkey("class", "set", "--json", "-R", "B", mount.file("f")).succeeded())
                #expect(below["set"] as? Int == 2 && below["failed"] as? Int == 0, "\(below)")

                let paths = ["a", "f", "absent", "f/g"].map(mount.file)
                let outcome = try mount.latchkey(["class", "get", "--json"] + paths)
                #expect(outcome.status == 1 && outcome.errors.contains("absent"), "\(outcome)")
                let got = try list(outcome)
                #expect(got.compactMap { $0["path"] as? String } == [paths[0], paths[1], paths[3]])
                let classes = ["complete", "complete-unless-open", "complete-unless-open"]
                #expect(got.compactMap { $0["class"] as? String } == classes)
                #expect(got.allSatisfy { $0["isExplicit"] as? Bool == true })
                #expect(try mount.latchkey("class", "get", "--json", "-0", paths[0]).status == 2)
            }
        }

        @Test func locks() throws {
            try withMount(Vault(), grace: 300) { mount in
                let begun = try object(mount.latchkey("lock", "--json", mount.path).succeeded())
                #expect(begun["state"] as? String == "locking" && begun["deadline"] != nil, "\(begun)")
                // It does not count down, at a terminal either.
                let typed = try mount.vault.latchkey(["lock", "--json", mount.path], answering: []).succeeded()
                #expect(!typed.text.contains("Ctrl-C") && typed.text.contains("\"locking\""), "\(typed)")
                let locked = try object(mount.latchkey("lock", "--json", "--now", "--wait", mount.path).succeeded())
                #expect(locked["state"] as? String == "locked", "\(locked)")
                #expect(locked["mountPoint"] as? String == mount.path, "\(locked)")
            }
        }

        @Test func policy() throws {
            let vault = try Vault()
            let file = try vault.folder.write(
                "allowed-device-keys = [\"tpm2\"]\nlongest-grace = 30\n", to: "policy.toml", mode: 0o644)
            let alone = try object(vault.latchkey(["policy", "check", "--json", "--policy", file]).succeeded())
            let stated = try #require(alone["rules"] as? [[String: Any]])
            #expect(stated.compactMap { $0["rule"] as? String } == ["allowed-device-keys", "longest-grace"])
            #expect(alone["policy"] as? String == file && stated.allSatisfy { $0["outcome"] == nil })

            try withMount(vault, grace: 60) { mount in
                let outcome = try mount.latchkey("policy", "check", "--json", "--policy", file, mount.path)
                #expect(outcome.status == 1 && outcome.errors.contains("longer than the 30"), "\(outcome)")
                let rules = try #require(try object(outcome)["rules"] as? [[String: Any]])
                #expect(rules.compactMap { $0["outcome"] as? String } == ["broken", "broken"])
                #expect(rules.compactMap { $0["line"] as? Int } == [1, 2])
                #expect((rules[1]["reason"] as? String)?.contains("the grace of 60 seconds") == true, "\(rules)")
            }
        }

        @Test func keys() throws {
            let vault = try Vault()
            let slot = try object(
                vault.latchkey(["slot", "test", "--json", "--passcode-file", vault.passcodeFile, vault.path])
                    .succeeded())
            #expect(slot["id"] as? Int == 1 && slot["kind"] as? String == "passcode", "\(slot)")
            #expect(slot["isPortable"] as? Bool == false && slot["vaultProof"] == nil, "\(slot)")

            let show = ["device-key", "show", "--json", vault.path]
            let kept = try object(vault.latchkey(show).succeeded())
            let file = try vault.deviceKeyFile()
            #expect(kept["kind"] as? String == "software" && kept["file"] as? String == file, "\(kept)")
            #expect(kept["isReleased"] as? Bool == true && kept["isBound"] as? Bool == true, "\(kept)")
            #expect(kept["reason"] == nil && kept["warning"] == nil && kept["pcrs"] == nil, "\(kept)")
            try shell("chmod 644 '\(file)'")
            let open = try object(vault.latchkey(show).succeeded())
            #expect((open["warning"] as? String)?.contains("every user") == true, "\(open)")
            let stranger = try Vault()
            try shell("cp '\(stranger.deviceKeyFile())' '\(file)'")
            let other = try vault.latchkey(show)
            let reason = try object(other)["reason"] as? String
            #expect(other.status == 1 && reason?.contains("belongs to another vault") == true, "\(other)")
        }
    }
}
