import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A package's upgrade replaces the program's file while a daemon runs it.
    @Suite struct UpgradeWhileMounted {
        private struct Fields: Decodable {
            var newerInstalled: Bool?
            var pid: Int
        }

        private func status(_ program: String, _ vault: Vault, _ point: String) throws -> Fields {
            let outcome = try attempt(program, ["status", "--json", point], environment: vault.environment).succeeded()
            return try JSONDecoder().decode(Fields.self, from: Data(outcome.output))
        }

        @Test func statusSaysThatANewerVersionIsInstalled() throws {
            let vault = try Vault()
            let program = vault.folder.path("latchkey")
            let point = try vault.folder.makeFolder("point")
            try shell("cp '\(Built.latchkey)' '\(program)'")
            try attempt(
                program, ["mount", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, point],
                environment: vault.environment
            ).succeeded()
            defer { _ = try? vault.latchkey(["unmount", point]) }
            let before = try status(program, vault, point)
            #expect(before.newerInstalled == nil)
            // As dpkg does it: the new file takes the name of the old one.
            try shell(
                """
                printf before > '\(point)/file'
                cp '\(Built.latchkey)' '\(program).new'; mv '\(program).new' '\(program)'
                printf ' and after' >> '\(point)/file'
                """)
            let after = try status(program, vault, point)
            #expect(after.newerInstalled == true)
            #expect(after.pid == before.pid)
            let text = try attempt(program, ["status", point], environment: vault.environment).succeeded().text
            #expect(text.contains("a newer version is installed"))
            #expect(try shell("cat '\(point)/file'").text == "before and after")
        }
    }
}
