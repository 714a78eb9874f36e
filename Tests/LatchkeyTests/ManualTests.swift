import Format
import Foundation
import Policy
import TestSupport
import Testing
import VaultNames

@testable import latchkey

/// The manual that tools/man writes: from the program's grammar, and by hand in docs/man.
@Suite struct ManualTests {
    private static let isCheckable = FileManager.default.isExecutableFile(atPath: "/usr/bin/mandoc")

    private func manual() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        var environment = Environment.plain
        environment["SOURCE_DATE_EPOCH"] = "1700000000"
        try run(
            Built.project + "/tools/man", ["--lint", "--program", Built.latchkey, folder.path],
            environment: environment)
        return folder
    }

    @Test(.enabled(if: isCheckable, "mandoc is missing")) func everyCommandHasAPageWithoutMistakes() throws {
        let folder = try manual()
        let pages = Set(try FileManager.default.contentsOfDirectory(atPath: folder.path("man1")))
        let helpPages = try FileManager.default.contentsOfDirectory(
            atPath: Built.project + "/Tests/LatchkeyTests/Help")
        for help in helpPages where help.hasSuffix(".txt") {
            let name = String(help.dropLast(4))
            #expect(pages.contains(name == "latchkey" ? "latchkey.1" : "latchkey-\(name).1"), "\(name)")
        }
        // What the page shows, not its source.
        let shown = try run("mandoc", ["-T", "utf8", folder.path("man1/latchkey-mount.1")]).text
            .replacing(/.\u{8}/, with: "")
        #expect(shown.contains("--lock-when-idle seconds"))
        #expect(shown.contains("November 14, 2023"))
        #expect(shown.contains("wrong passcode"))
    }

    @Test func policyPageHasEveryRule() throws {
        let page = try String(contentsOfFile: Built.project + "/docs/man/latchkey-policy.5", encoding: .utf8)
        let rules = Set(page.matches(of: /\n\.It Ic (\S+)/).map { String($0.output.1) })
        #expect(rules == Set(RuleName.allCases.map(\.rawValue)))
    }

    @Test func configurationPageHasEveryKey() throws {
        let page = try String(contentsOfFile: Built.project + "/docs/man/latchkey-config.5", encoding: .utf8)
        let keys = Set(page.matches(of: /\n\.It Ic (\S+)/).map { String($0.output.1) })
        #expect(keys == Set(NamedVault.Key.allCases.map(\.rawValue)))
        let ofAgent = Set(page.matches(of: /\n\.It Cm (\S+)/).map { String($0.output.1) })
        #expect(ofAgent == Set(AgentConfiguration.Key.allCases.map(\.rawValue)))
    }

    @Test func classPageHasEveryClass() throws {
        let page = try String(contentsOfFile: Built.project + "/docs/man/latchkey.7", encoding: .utf8)
        for protection in ProtectionClass.allCases {
            #expect(page.contains("\n.It \(protection.letter) , Li \(protection.name)\n"))
        }
    }
}
