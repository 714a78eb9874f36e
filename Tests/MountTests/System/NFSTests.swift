import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A mount that an NFS server exports: it opens everything by file handles.
    @Suite struct ServedByNFS {
        /// The server needs root.
        private static let hasServer =
            geteuid() == 0
            && ["/usr/bin/ganesha.nfsd", "/usr/bin/nfs-cat", "/sbin/rpcbind"].allSatisfy {
                FileManager.default.isExecutableFile(atPath: $0)
            }

        @Test(.enabled(if: hasServer, "tools/lib/common.sh says when it is installed"))
        func filesByHandles() throws {
            let scratch = try TemporaryFolder()
            func serve(_ mount: MountedVault, _ commands: String...) throws -> String {
                let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "nfs.sh").path
                return try run(script, [mount.path, scratch.path] + commands).text
            }
            let forget = "echo 2 > /proc/sys/vm/drop_caches"
            let text = "written by a client\n"
            try text.write(toFile: scratch.path("file"), atomically: false, encoding: .utf8)
            let vault = try Vault(["--default-class", "complete"])
            try withMount(vault, options: ["-o", "allow_other"]) { mount in
                try FileManager.default.createDirectory(
                    atPath: mount.path + "/one/two", withIntermediateDirectories: true)
                let seen = try serve(
                    mount, "nfs-cp \(scratch.path("file")) \"$(at one/two/file)\" > /dev/null",
                    "nfs-cat \"$(at one/two/file)\"", forget, "nfs-cat \"$(at one/two/file)\"",
                    "nfs-ls \"$(at one)\" | grep -c two")
                #expect(seen == text + text + "1\n")
                #expect(try String(contentsOfFile: mount.path + "/one/two/file", encoding: .utf8) == text)
                try mount.lockNow()
                let locked = try serve(
                    mount, forget, "nfs-cat \"$(at one/two/file)\" 2>&1 || echo refused", "nfs-ls \"$(at one/two)\"")
                #expect(!locked.contains("written") && locked.contains("refused") && locked.contains(" file\n"))
                try mount.unlock()
                #expect(try serve(mount, forget, "nfs-cat \"$(at one/two/file)\"") == text)
            }
        }
    }
}
