import Foundation
import TestSupport
import Testing

@testable import latchkey

/// The parts that the program names are those that Package.swift links and docs/LICENSES.md explains.
@Suite struct AboutTests {
    private static let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func read(_ path: String) throws -> String {
        try String(contentsOf: Self.top.appending(path: path), encoding: .utf8)
    }

    @Test func versionsArePinnedOnes() throws {
        let manifest = try read("Package.swift")
        for part in About.builtIn {
            guard let version = part.version else { continue }
            #expect(manifest.contains("/\(part.name)\", exact: \"\(version)\""), "\(part.name)")
        }
    }

    @Test func namesEveryLinkedLibrary() throws {
        let linked = Set(About.linked.map(\.name))
        let manifest = try read("Package.swift")
        let named = manifest.matches(of: /\.linkedLibrary\("([^"]+)"\)/).map { "lib" + String($0.output.1) }
        #expect(Set(named) == linked)
    }

    @Test func librariesSayTheirVersion() throws {
        for name in ["libfuse3", "libcrypto"] {
            let part = try #require(About.linked.first { $0.name == name })
            #expect(part.version?.hasPrefix("3.") == true, "\(part)")
        }
    }

    @Test func versionNamesCommitAndLibraries() throws {
        let version = try run(Built.latchkey, ["--version"]).text
        #expect(version.hasPrefix("\(Latchkey.version) (commit "))
        #expect(version.contains("libfuse 3.") && version.contains("OpenSSL 3."))
        // Semantic versioning: tools/package makes the package's version from this one.
        #expect(Latchkey.version.wholeMatch(of: /\d+\.\d+\.\d+/) != nil)
    }

    @Test func licensesStandInTheDocument() throws {
        let document = try read("docs/LICENSES.md")
        for part in About.builtIn + About.linked + About.opened {
            #expect(
                document.split(separator: "\n").contains { $0.contains(part.name) && $0.contains(part.license) },
                "\(part.name), \(part.license)")
        }
        #expect(try read("LICENSE").contains("Apache License"))
        #expect(About.text.text.hasPrefix("latchkey \(About.version), Apache-2.0\n"))
    }
}
