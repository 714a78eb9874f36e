import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The command that says what the administrator's policy demands, and whether a vault keeps it.
    @Suite struct PolicyCheck {
        let vault: Vault
        let publicKey: String
        let policy: String

        init() throws {
            vault = try Vault()
            publicKey = vault.folder.path("escrow-public.pem")
            policy = vault.folder.path("policy.toml")
            try shell("openssl genpkey -algorithm X25519 | openssl pkey -pubout -out '\(publicKey)'").succeeded()
        }

        private func write(_ rules: String) throws {
            _ = try vault.folder.write(rules, to: "policy.toml", mode: 0o644)
        }

        private func check(_ place: String? = nil) throws -> Outcome {
            try vault.latchkey(["policy", "check", "--policy", policy] + (place.map { [$0] } ?? []))
        }

        @Test func explains() throws {
            try write(
                """
                # Machines of the sales department
                longest-grace = 30

                required-escrow-key = "\(publicKey)"   # of the organisation
                """)
            // The last 32 bytes of its DER are the key: RFC 8410.
            let key = try shell("openssl pkey -pubin -in '\(publicKey)' -outform DER | tail -c 32 | od -An -v -tx1")
                .succeeded().text.filter { !$0.isWhitespace }
            #expect(
                try check().succeeded().text == """
                    \(policy):
                      line 2  The grace of a mount is at most 30 seconds.
                      line 4  A vault has a slot for the escrow key \(key).

                    """)
            try write("# nothing yet\n")
            #expect(try check().succeeded().text == "Nothing is demanded: \(policy) is not there, or has no rules.\n")
        }

        /// A policy that cannot be parsed does not allow everything.
        @Test func refusals() throws {
            let head = "latchkey: the policy cannot be used: \(policy)"
            let missing = try check()
            #expect(missing.status == 1 && missing.errors == "\(head): there is no such file\n")
            try write("longest-grace = 30\nlongest-garce = 30\n")
            for place in [nil, vault.path] {
                let malformed = try check(place)
                #expect(malformed.status == 1 && malformed.text.isEmpty)
                #expect(malformed.errors == "\(head), line 2: there is no rule longest-garce\n")
            }
            try write("longest-grace = 30\n")
            #expect(unsafe chmod(policy, 0o666) == 0)
            #expect(try check().errors.contains("users other than its owner can write to it"))
            try write("\nrequired-escrow-key = '\(vault.passcodeFile)'\n")
            let noKey = "line 2: the required-escrow-key \(vault.passcodeFile): it is no X25519 public key in PEM"
            #expect(try check().errors.contains(noKey))
            try write("longest-grace = 30\n")
            #expect(try check(vault.folder.path).status == 5)
        }

        /// What the keybag shows without a key, and what the daemon says through the mount, locked or not.
        @Test func aVaultIsHeldAgainstIt() throws {
            try write(
                """
                minimum-passcode-strength = 3
                default-class = "complete"
                longest-grace = 30
                required-escrow-key = "\(publicKey)"
                allowed-device-keys = ["software"]
                """)
            let before = try Disk.read(vault.keybag)
            let folder = try check(vault.path)
            #expect(folder.status == 1)
            #expect(words(folder) == ["unknown", "unknown", "unknown", "broken", "unknown"])
            #expect(
                folder.errors == """
                    latchkey: the vault has no slot for the escrow key of \(policy), line 4
                      try: latchkey slot add escrow-key --public-key FILE \(vault.path)
                    latchkey: 1 of 5 failed

                    """)
            #expect(try Disk.read(vault.keybag) == before)

            try vault.latchkey(
                ["slot", "add", "--passcode-file", vault.passcodeFile, "escrow-key", "--public-key", publicKey]
                    + [vault.path]
            ).succeeded()
            #expect(try words(check(vault.path).succeeded()) == ["unknown", "unknown", "unknown", "kept", "unknown"])

            try withMount(vault, unlocked: false, grace: 31) { mount in
                for place in [mount.path, vault.path] {
                    let mounted = try check(place)
                    #expect(mounted.status == 1)
                    #expect(words(mounted) == ["unknown", "broken", "broken", "kept", "kept"])
                    #expect(
                        mounted.errors.contains("default class complete-until-first-user-authentication is weaker"))
                    #expect(
                        mounted.errors.contains("the grace of 31 seconds is longer than the 30 of \(policy), line 3"))
                    #expect(mounted.errors.hasSuffix("latchkey: 2 of 5 failed\n"))
                }
            }
            try withMount(vault, grace: 30) { mount in
                try mount.latchkey("class", "set", "complete", mount.path).succeeded()
                #expect(try words(check(mount.path).succeeded()) == ["unknown", "kept", "kept", "kept", "kept"])
            }
        }

        /// The text behind the line numbers.
        private func words(_ outcome: Outcome) -> [String] {
            outcome.text.split(separator: "\n").dropFirst().map { String($0.split(separator: " ")[2]) }
        }
    }
}
