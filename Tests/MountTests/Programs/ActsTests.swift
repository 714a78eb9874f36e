import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Programs cannot tell the mount from ext4: the same acts run in a folder of an ext4 file system and in a mount of
    /// a vault on it. Their output is compared line by line; then the resulting trees are, the vault's from a new
    /// mount.
    @Suite(.enabled(if: LoopDisk.isAvailable, "needs root and loop devices")) struct Acts {
        private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Acts").path

        /// A file of acts each: Tests/MountTests/Acts.
        @Test(arguments: [
            ["attributes", "metadata"], ["contents", "open_files"], ["directories", "names"],
            ["locks", "special", "users"],
        ])
        func areAnsweredAsByExt4(_ acts: [String]) throws {
            let disk = try LoopDisk(size: "1G", options: ["-O", "ea_inode"])
            let vault = try Vault(at: disk.path + "/vault")
            let plain = disk.path + "/plain"
            try shell("mkdir '\(plain)'").succeeded()
            try withMount(vault, options: ["-o", "allow_other,dev"]) { mount in
                let expected = try answers(acts, in: plain)
                #expect(!expected.isEmpty && !expected.contains { $0.contains("FAILED") }, "\(expected)")
                expectSame(try answers(acts, in: mount.file("acts")), expected)
                try mount.lockNow()
                try mount.unlock()
            }
            try withMount(vault, options: ["-o", "allow_other,dev"]) { mount in
                expectSame(try tree(mount.file("acts")), try tree(plain))
            }
            let check = try vault.latchkey(["fsck", vault.path, "--unlock", "--passcode-file", vault.passcodeFile])
            #expect(check.status == 0 && check.text.contains("nothing wrong"), "\(check)")
        }

        private func answers(_ acts: [String], in folder: String) throws -> [String] {
            let outcome = try run("python3", ["-B", Self.script + "/run.py", folder] + acts, within: 300)
            return try outcome.succeeded().text.split(separator: "\n").map(String.init)
        }

        /// Every name with all its metadata.
        private func tree(_ folder: String) throws -> [String] {
            try run("python3", ["-B", Self.script + "/tree.py", folder], within: 120).succeeded().text
                .split(separator: "\n").map(String.init)
        }

        private func expectSame(
            _ found: [String], _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let differing = found.difference(from: expected).map { change in
                switch change {
                case .remove(_, let line, _): "ext4:  " + line.prefix(300)
                case .insert(_, let line, _): "mount: " + line.prefix(300)
                }
            }
            #expect(
                differing.isEmpty, "\n\(differing.prefix(20).joined(separator: "\n"))", sourceLocation: sourceLocation)
        }
    }
}
