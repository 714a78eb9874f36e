import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A passcode that a program wrote with a second line, or as Windows ends lines.
    @Suite struct PasscodeLines {
        static let excesses = ["\r\n", "\r", "\nurl: x\n", "\n\n", "\r\nx"]

        let vault: Vault
        let spoilt: String

        init() throws {
            vault = try Vault(["--erase-after", "4"])
            spoilt = vault.folder.path("spoilt passcode")
        }

        private func spoil(_ excess: String) throws {
            try Disk.write(Array((Vault.passcode + excess).utf8), to: spoilt)
        }

        private func expectRefused(_ outcome: Outcome, _ excess: String, in place: String) {
            #expect(outcome.status == 2, "\(outcome)")
            #expect(outcome.errors.contains(" in \(place) has a "), "\(outcome)")
            let isLine = excess.dropLast().contains { $0 == "\n" || $0 == "\r\n" } || excess == "\n\n"
            #expect(outcome.errors.contains(isLine ? "a second line" : "a carriage return"), "\(outcome)")
            #expect(outcome.errors.contains("nothing was tried\n  try: "), "\(outcome)")
        }

        /// More often than wrong passcodes are allowed: none is counted, and nothing is erased.
        @Test func aFileIsRefusedUncounted() throws {
            try withMount(vault, unlocked: false) { mount in
                for excess in Self.excesses {
                    try spoil(excess)
                    let commands = [
                        ["unlock", "--passcode-file", spoilt, mount.path],
                        ["passwd", "--passcode-file", spoilt, "--new-passcode-file", vault.passcodeFile, mount.path],
                        ["passwd", "--passcode-file", vault.passcodeFile, "--new-passcode-file", spoilt, mount.path],
                        ["slot", "test", "--passcode-file", spoilt, vault.path],
                    ]
                    for command in commands { expectRefused(try vault.latchkey(command), excess, in: spoilt) }
                }
                #expect(try mount.status().state == "before-first-unlock")
                try mount.unlock()
            }
        }

        @Test func theAdviceWorksAsItStands() throws {
            try withMount(vault, unlocked: false) { mount in
                for excess in Self.excesses.dropLast() {
                    try spoil(excess)
                    let refused = try vault.latchkey(["unlock", "--passcode-file", spoilt, mount.path])
                    let advice = try #require(refused.errors.split(separator: "  try: ").last)
                    let command = try #require(advice.components(separatedBy: "   (then").first)
                    try shell(command, in: "/").succeeded()
                    let outcome = try vault.latchkey(["unlock", "--passcode-file", spoilt + ".line", mount.path])
                    #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(excess.debugDescription): \(outcome)")
                    try mount.lockNow()
                }
            }
        }

        @Test func aMountAndANewVault() throws {
            try spoil("\r\n")
            let point = try vault.folder.makeFolder("point")
            for more in [[], ["--foreground"]] {
                expectRefused(
                    try vault.latchkey(["mount", "--unlock", "--passcode-file", spoilt, vault.path, point] + more),
                    "\r\n", in: spoilt)
            }
            expectRefused(
                try vault.latchkey(["init", "--passcode-file", spoilt, vault.folder.path("new")]), "\r\n", in: spoilt)
            #expect(!Disk.exists(vault.folder.path("new")))
        }

        @Test func descriptorsAndStandardInput() throws {
            try withMount(vault, unlocked: false) { mount in
                let input = { (text: String) in Array((Vault.passcode + text).utf8) }
                for excess in Self.excesses {
                    expectRefused(
                        try vault.latchkey(["unlock", "--passcode-fd", "0", mount.path], input: input(excess)), excess,
                        in: "descriptor 0")
                }
                for excess in ["\r\n", "\r", "\r\nmore\n"] {
                    expectRefused(
                        try vault.latchkey(["unlock", mount.path], input: input(excess)), "\r\n", in: "standard input")
                }
                // Two secrets are two lines.
                let both = Array("\(Vault.passcode)\n\(Vault.passcode) and more\n".utf8)
                try vault.latchkey(["passwd", mount.path], input: both).succeeded()
                let end = " and more\n"
                try vault.latchkey(["unlock", mount.path], input: input(end)).succeeded()
                let back = Array("\(Vault.passcode) and more\r\n\(Vault.passcode)\n".utf8)
                let refused = try vault.latchkey(["passwd", mount.path], input: back)
                expectRefused(refused, "\r\n", in: "standard input")
            }
        }
    }
}
