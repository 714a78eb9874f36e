import TestSupport
import Testing

extension MountTests {
    /// `status` of all mounts warns once, after them, of what is wrong with several.
    @Suite struct StatusWarnings {
        @Test func oneForAll() throws {
            let vaults = try [Vault(), Vault()]
            let mounts = try vaults.map { try MountedVault($0) }
            defer { for mount in mounts { mount.detach() } }
            let keys = try vaults.map { try $0.deviceKeyFile() }
            try shell("chmod 644 \(keys.joined(separator: " "))")
            let text = try vaults[0].latchkey(["status"]).succeeded().text
            let lines = text.split(separator: "\n").map(String.init)
            let warnings = lines.indices.filter { lines[$0].contains("can be read by every user of this machine") }
            #expect(warnings.count == 1 && keys.allSatisfy(lines[warnings[0]].contains), "\(text)")
            let advice = lines[warnings[0] + 1]
            #expect(advice.hasPrefix("  try: chmod 600 ") && lines[warnings[0] + 2].hasPrefix("agent: "), "\(text)")
            // That of one mount still has its own.
            #expect(try vaults[0].latchkey(["status", mounts[0].path]).succeeded().text.contains("  warning "))
            try shell(String(advice.dropFirst("  try: ".count)))
            #expect(try !vaults[0].latchkey(["status"]).succeeded().text.contains("can be read by"))
        }
    }
}
