import Foundation
import TestSupport
import Testing

/// tools/install puts everything below its PREFIX, and takes away what it has put there.
@Suite struct InstallTests {
    private static let isPossible = FileManager.default.isExecutableFile(atPath: "/usr/bin/strip")

    private func install(_ arguments: [String]) throws -> Outcome {
        try attempt(Built.project + "/tools/install", arguments, within: 120)
    }

    @Test(.enabled(if: isPossible, "strip is missing")) func installsAndRemovesTheSameFiles() throws {
        let folder = try TemporaryFolder()
        let prefix = try folder.makeFolder("prefix")
        _ = try folder.makeFolder("prefix/bin")
        _ = try folder.makeFolder("prefix/share")
        _ = try folder.write("mine", to: "prefix/share/other")
        // Twice: a second installation replaces the first one.
        for _ in 1...2 { try install(["--program", Built.latchkey, prefix]).succeeded() }
        let installed = Set(Disk.tree(prefix))
        for path in [
            "bin/latchkey", "share/man/man1/latchkey-mount.1", "share/man/man7/latchkey.7",
            "share/bash-completion/completions/latchkey", "share/zsh/site-functions/_latchkey",
            "share/fish/vendor_completions.d/latchkey.fish", "share/doc/latchkey/README.md", "share/latchkey/installed",
        ] {
            #expect(installed.contains(path), "\(path)")
        }
        #expect(try run(prefix + "/bin/latchkey", ["--version"]).text.contains("commit"))
        // What another program has put there is not replaced.
        try shell("sed -i /man1.latchkey.1/d '\(prefix)/share/latchkey/installed'")
        let refused = try install(["--program", Built.latchkey, prefix])
        #expect(refused.status == 1 && refused.errors.contains("latchkey.1 exists"))
        try shell("echo '\(prefix)/share/man/man1/latchkey.1' >> '\(prefix)/share/latchkey/installed'")
        let removed = try install(["--uninstall", prefix])
        guard removed.status == 0 || !removed.errors.contains("vaults are mounted") else { return }
        try removed.succeeded()
        // Folders that were there stay.
        #expect(Disk.tree(prefix) == ["bin", "share", "share/other"])
    }
}
