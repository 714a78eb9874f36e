import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Nested folders, deeper than the limit of open files.
    @Suite struct DeepTrees {
        private static let depth = 300

        /// Two folders and a file in each folder.
        private func makeTree(in path: String) throws {
            try run(
                "python3",
                [
                    "-c",
                    """
                    import os, sys
                    os.chdir(sys.argv[1])
                    for level in range(int(sys.argv[2])):
                        os.mkdir("a"); os.mkdir("m"); os.mkdir("z"); open("file", "w").write(str(level))
                        os.chdir("m")
                    """, path, "\(Self.depth)",
                ]
            ).succeeded()
        }

        private func limited(_ limit: Int, _ vault: Vault, _ words: String...) throws -> Outcome {
            try run(
                "prlimit", ["--nofile=\(limit):\(limit)", Built.latchkey] + words, environment: vault.environment,
                within: 300)
        }

        @Test func aCheckAndAClassForAllTakeAFewDescriptors() throws {
            let vault = try Vault()
            try withMount(vault) { mount in
                try makeTree(in: mount.path)
                let outcome = try limited(64, vault, "class", "set", "-R", "B", mount.path)
                let count = 4 * Self.depth + 1
                #expect(outcome.text == "complete-unless-open: \(count) of \(count) set\n", "\(outcome)")
            }
            let outcome = try limited(128, vault, "fsck", "--passcode-file", vault.passcodeFile, vault.path)
            let (files, folders) = (Self.depth, 3 * Self.depth + 1)
            #expect(outcome.text.contains("nothing wrong; \(files) files and \(folders) folders"), "\(outcome)")
            #expect(outcome.text.contains("All contents were read"), "\(outcome)")
        }

        /// Temporary folders nested deeper than any interrupted operation leaves them: the repair exhausts neither
        /// descriptors nor stack.
        @Test func aRepairLeavesFoldersThatAreTooDeepToBeTemporary() throws {
            let vault = try Vault()
            defer { _ = try? run("rm", ["-rf", vault.path]) }
            try run(
                "python3",
                [
                    "-c",
                    """
                    import os, sys
                    os.chdir(sys.argv[1])
                    for level in range(20000):
                        os.mkdir("lk.tmp.x"); os.chdir("lk.tmp.x")
                    """, vault.path,
                ]
            ).succeeded()
            let outcome = try limited(
                64, vault, "fsck", "--repair", "--unlock", "--passcode-file", vault.passcodeFile, vault.path)
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.text.contains("not repaired: it holds files"), "\(outcome)")
        }
    }
}
