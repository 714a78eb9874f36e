import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A backup of a vault is mounted beside it: both have the same volume ID.
    @Suite struct CopiesBeside {
        private func withCopy(_ body: (Vault, Vault) throws -> Void) throws {
            let vault = try Vault(["--default-class", "complete"])
            try withMount(vault) { mount in try shell("echo kept > file", in: mount.path).succeeded() }
            let copy = Vault(copy: vault.folder.path("copy"), of: vault)
            try shell("cp -a \(vault.path) \(copy.path)", in: "/").succeeded()
            try body(vault, copy)
        }

        private func status(_ vault: Vault, _ path: String) throws -> [String: Any] {
            let outcome = try vault.latchkey(["status", "--json", path]).succeeded()
            return try #require(try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any])
        }

        /// In either order, each is reached by its own paths, and locks by itself.
        @Test(arguments: [true, false]) func readOnlyBesideTheOriginal(_ isFirst: Bool) throws {
            try withCopy { vault, copy in
                let early = isFirst ? try MountedVault(copy, options: ["-o", "ro"], at: "copy-mount") : nil
                let mount = try MountedVault(vault)
                let other = try early ?? MountedVault(copy, options: ["-o", "ro"], at: "copy-mount")
                for (vault, mount) in [(vault, mount), (copy, other)] {
                    for path in [vault.path, mount.path, mount.file("file")] {
                        let status = try status(vault, path)
                        #expect(status["vault"] as? String == vault.path, "\(path)")
                        #expect(status["mountPoint"] as? String == mount.path, "\(path)")
                    }
                }
                let volumes = try [vault.path, copy.path].map { try status(vault, $0)["volume"] as? String }
                #expect(volumes[0] != nil && volumes[0] == volumes[1])

                try vault.latchkey(["lock", "--now", "--wait", copy.path]).succeeded()
                #expect(try status(vault, copy.path)["state"] as? String == "locked")
                #expect(try status(vault, vault.path)["state"] as? String == "unlocked")
                try vault.latchkey(["unlock", "--passcode-file", vault.passcodeFile, other.path]).succeeded()

                // What KEYS.md says: a lost file comes back through the mounts.
                try shell("echo gone > file; cp ../copy-mount/file .; echo more > new", in: mount.path).succeeded()
                #expect(try shell("cat file", in: mount.path).text == "kept\n")
                #expect(try shell("echo x > new 2>/dev/null || echo refused", in: other.path).text == "refused\n")
                #expect(try shell("ls", in: other.path).text == "file\n")

                try vault.latchkey(["unmount", copy.path]).succeeded()
                #expect(try status(vault, vault.path)["state"] as? String == "unlocked")
                try vault.latchkey(["lock", "--now", "--wait", vault.path]).succeeded()
                try mount.unmount()
            }
        }

        @Test func onlyOneCanBeWrittenTo() throws {
            try withCopy { vault, copy in
                let mount = try MountedVault(vault)
                let point = try vault.folder.makeFolder("point")
                let outcome = try vault.latchkey(["mount", copy.path, point])
                #expect(outcome.status == 1, "\(outcome)")
                #expect(outcome.errors.contains("only one of them can be written to"), "\(outcome)")
                #expect(outcome.errors.contains("try: latchkey mount -o ro \(copy.path) \(point)"), "\(outcome)")
                try vault.latchkey(["mount", "-o", "ro", copy.path, point]).succeeded()
                // The original has ended: its copy may not become the second one that is written to later.
                try mount.unmount()
                let again = try MountedVault(vault)
                try vault.latchkey(["unmount", point]).succeeded()
                #expect(try vault.latchkey(["mount", copy.path, point]).status == 1)
                try again.unmount()
                try vault.latchkey(["mount", copy.path, point]).succeeded()
                try vault.latchkey(["unmount", point]).succeeded()
            }
        }
    }
}
