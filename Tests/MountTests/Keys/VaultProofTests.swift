import Foundation
import TestSupport
import Testing

extension MountTests {
    /// The proof by which the holder of an escrow key recognizes a vault.
    @Suite struct VaultProofs {
        let folder: TemporaryFolder
        let escrowKey: String
        let publicKey: String
        let vault: Vault
        /// The proof as `init` has shown it.
        let proof: String

        init() throws {
            folder = try TemporaryFolder()
            escrowKey = folder.path("escrow.pem")
            publicKey = folder.path("escrow-public.pem")
            try run("openssl", ["genpkey", "-algorithm", "X25519", "-out", escrowKey]).succeeded()
            try run("openssl", ["pkey", "-in", escrowKey, "-pubout", "-out", publicKey]).succeeded()
            vault = try Vault(["--recovery-public-key", publicKey])
            proof = try Self.proof(
                in: vault.latchkey(["slot", "test", "--passcode-file", vault.passcodeFile, vault.path]).succeeded().text
            )
        }

        private static func proof(in text: String) throws -> String {
            let pattern = /\b([0-9a-f]{4}(?:-[0-9a-f]{4}){7})\b/
            return String(try #require(text.firstMatch(of: pattern), "\(text)").1)
        }

        /// A recovery by the escrow key, on a machine that has never seen the vault.
        private func recovery(_ options: [String], at point: String) throws -> [String] {
            let new = try vault.folder.write("a new passcode", to: "new")
            return ["mount", "--recovery", "--escrow-key", escrowKey, "--passcode-file", new]
                + ["--device-key", vault.folder.path("moved.key")] + options + [vault.path, point]
        }

        /// Nothing in the vault but its claims has changed, no device key was made, nothing is mounted.
        private func expectRefused(
            _ options: [String], status: Int32, _ words: String, answering answer: String? = nil
        ) throws {
            func contents() throws -> String {
                try shell("tar --sort=name --exclude=lk.claims -cf - -- * | sha256sum", in: vault.path).text
            }
            let before = try contents()
            let point = try vault.folder.makeFolder("refused-\(UUID())")
            let arguments = try recovery(options, at: point)
            let outcome: Outcome
            if let answer {
                outcome = try vault.latchkey(arguments, answering: [("take the vault without: ", answer)])
            } else {
                outcome = try vault.latchkey(arguments)
            }
            let said = outcome.text + outcome.errors
            #expect(
                outcome.status == status && said.contains(words) && said.contains("nothing was changed"), "\(outcome)")
            #expect(try contents() == before)
            #expect(!Disk.exists(vault.folder.path("moved.key")) && mountLines(of: point).isEmpty)
        }

        private func expectRecovered(_ options: [String], answering answer: String? = nil) throws {
            let point = try vault.folder.makeFolder("recovered-\(UUID())")
            let arguments = try recovery(options, at: point)
            if let answer {
                try vault.latchkey(arguments, answering: [("take the vault without: ", answer)]).succeeded()
            } else {
                try vault.latchkey(arguments).succeeded()
            }
            try vault.latchkey(["unmount", point]).succeeded()
        }

        /// The proof is the same by each way in, and does not change with passcodes and slots.
        @Test func whereItIsShown() throws {
            let made = vault.folder.path("another")
            let shown = try vault.latchkey([
                "init", made, "--recovery-public-key", publicKey, "--passcode-file", vault.passcodeFile,
                "--kdf-memory", "19", "--kdf-passes", "2", "--recovery-key-file", made + ".key",
            ]).succeeded().text
            let other = try Self.proof(in: shown)
            #expect(other != proof && shown.contains("holder of the escrow key"))
            try withMount(vault, unlocked: false) { mount in
                #expect(try !vault.latchkey(["status", mount.path]).succeeded().text.contains(proof))
                try mount.unlock()
                #expect(try vault.latchkey(["status", mount.path]).succeeded().text.contains(proof))
                let json = try vault.latchkey(["status", "--json", mount.path]).succeeded().text
                #expect(json.contains(#""vaultProof""#) && json.contains(proof), "\(json)")
                let new = try vault.folder.write("a new passcode", to: "new")
                try mount.latchkey(
                    "passwd", mount.path, "--passcode-file", vault.passcodeFile, "--new-passcode-file", new
                ).succeeded()
                let added = try mount.latchkey(
                    "slot", "add", "escrow-key", "--public-key", publicKey, "--passcode-file", new, mount.path
                ).succeeded().text
                #expect(try Self.proof(in: added) == proof)
            }
            let tested = try vault.latchkey(["slot", "test", "--escrow-key", escrowKey, vault.path]).succeeded().text
            #expect(try Self.proof(in: tested) == proof)
        }

        @Test func recoveryWantsIt() throws {
            try expectRefused([], status: 2, "nothing shows that the vault")
            let volume = try #require(try vault.deviceKeyFile().split(separator: "/").last?.dropLast(4))
            try expectRefused([], status: 2, "volume \(volume)")
            try expectRefused(
                ["--vault-proof", "0123-4567-89ab-cdef-0123-4567-89ab-cdef"], status: 6,
                "the proof is not that of the vault")
            let mistyped = try vault.latchkey(recovery(["--vault-proof", "0123"], at: vault.folder.path("")))
            #expect(mistyped.status == 2 && mistyped.errors.contains("32 hexadecimal digits"), "\(mistyped)")
            try expectRecovered(["--vault-proof", proof.uppercased().replacingOccurrences(of: "-", with: " ")])
        }

        @Test func itIsTakenWithoutAProof() throws { try expectRecovered(["--accept-unproven"]) }

        /// At a terminal the user is asked for the proof, or for his consent to go on without one.
        @Test func aPersonIsAsked() throws {
            let other = "0123-4567-89ab-cdef-0123-4567-89ab-cdef"
            try expectRefused([], status: 6, "the proof is not that of the vault", answering: other)
            for answer in ["", "yes", "0123"] {
                try expectRefused([], status: 1, "nothing was changed", answering: answer)
            }
            try expectRecovered([], answering: proof)
        }

        @Test func aPersonTakesItWithout() throws { try expectRecovered([], answering: "unproven") }

        /// An attacker with the public key replaces the vault by one of his own. The true vault's recovery keys do not
        /// open it; the escrow key opens it only if the user accepts it without a proof.
        @Test func aVaultOfAnAttacker() throws {
            let forged = try Vault(["--recovery-public-key", publicKey])
            try withMount(forged) { try shell("echo bait > a", in: $0.path).succeeded() }
            try run("rm", ["-r", vault.path]).succeeded()
            try run("cp", ["-a", forged.path, vault.path]).succeeded()
            try expectRefused(["--vault-proof", proof], status: 6, "the proof is not that of the vault")
            try expectRefused([], status: 2, "nothing shows that the vault")
            try expectRecovered(["--accept-unproven"])
        }

        /// The device key does not help a thief of the whole disk either: with it he can make a keybag that opens on
        /// the owner's machine, but with class keys of his own.
        @Test func aKeybagMadeWithTheDeviceKey() throws {
            try ForgedKeybag.forge(vault, Self.ownClassKeys)
            try expectRefused(["--vault-proof", proof], status: 6, "the proof is not that of the vault")
            try expectRecovered(["--accept-unproven"])
        }

        private static let ownClassKeys = """
            import os
            from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
            from cryptography.hazmat.primitives.keywrap import aes_key_unwrap, aes_key_wrap
            from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
            volume = bytes(bag[28:44])
            hkdf = lambda key, salt, info: mac(mac(salt, key), info + bytes([1]))
            public = lambda key: key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
            device_slot = bytes(bag[at(3):at(3) + 72])
            known = aes_key_unwrap(hkdf(device_key, volume, b"latchkey device slot"), device_slot)
            private, mac_key = os.urandom(32), os.urandom(32)
            bundle = os.urandom(32) + private + os.urandom(32) + known[32:] + known[:32] + mac_key
            bag[at(2):at(2) + 32] = public(X25519PrivateKey.from_private_bytes(private))
            ephemeral, start = X25519PrivateKey.generate(), at(19) + 12
            escrow = bytes(bag[start:start + 32])
            shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(escrow))
            key = hkdf(shared, volume, b"latchkey escrow" + public(ephemeral) + escrow)
            bag[start + 32:start + 264] = public(ephemeral) + aes_key_wrap(key, bundle)
            bag[-64:-32] = mac(mac_key, bag[:-64])
            """

        /// New keys have a new proof, which is shown; the old one matches an older copy only.
        @Test func newKeys() throws {
            let copy = vault.folder.path("older")
            try run("cp", ["-a", vault.path, copy]).succeeded()
            var new = ""
            try withMount(vault) { mount in
                let text = try mount.latchkey(
                    "rotate", "--yes", "--wait", "--passcode-file", vault.passcodeFile,
                    "--recovery-key-file", vault.folder.path("new-recovery-key"), mount.path
                ).succeeded().text
                new = try Self.proof(in: text)
                #expect(new != proof && text.contains("another one now"), "\(text)")
                #expect(try vault.latchkey(["status", mount.path]).succeeded().text.contains(new))
            }
            try expectRefused(["--vault-proof", proof], status: 6, "latchkey rotate")
            try expectRecovered(["--vault-proof", new])
        }
    }
}
