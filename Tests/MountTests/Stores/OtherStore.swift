import Foundation
import Glibc
import TestSupport

/// A folder of this machine that another FUSE file system shows, as a store for vaults. Unmounted with the value.
final class OtherStore {
    let folder: TemporaryFolder
    /// What the file system stands on.
    let source: String
    /// The store.
    let path: String
    private let program: LineProgram?

    private init(_ mount: (_ source: String, _ path: String, TemporaryFolder) throws -> LineProgram?) throws {
        folder = try TemporaryFolder()
        source = try folder.makeFolder("source")
        path = try folder.makeFolder("store")
        program = try mount(source, path, folder)
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw HarnessError("stat \(path): errno \(errno)") }
    }

    deinit {
        FuseConnection(at: path)?.abort()
        unsafe umount2(path, Int32(MNT_DETACH))
        _ = try? attempt("fusermount3", ["-u", "-z", "-q", path])
        program?.process.send(SIGKILL)
        program?.process.wait()
    }

    /// - Parameter lacks: options of the pass-through.
    static func passthrough(_ lacks: String) throws -> OtherStore {
        try OtherStore { source, path, _ in
            let program = try LineProgram(Built.passthrough, ["-o", lacks, source, path])
            let greeting = try program.line(within: 20)
            guard greeting.hasPrefix("mounted") else { throw HarnessError("the pass-through said \(greeting)") }
            return program
        }
    }

    private static let server = ["/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    static let hasSSH = server != nil && (try? attempt("sshfs", ["--version"]).status) == 0

    /// A real sshfs, whose other end is the server's program without a connection. It returns when it is mounted.
    static func ssh() throws -> OtherStore {
        try OtherStore { source, path, folder in
            let script = try folder.write("#!/bin/sh\nexec \(server ?? "")\n", to: "connect", mode: 0o700)
            try run("sshfs", ["-o", "ssh_command=\(script)", "host:\(source)", path])
            return nil
        }
    }

    static let hasRclone = (try? attempt("rclone", ["version"]).status) == 0

    /// rclone over a folder. Without its cache, a file takes bytes only from its beginning on.
    static func rclone(cached: Bool = false) throws -> OtherStore {
        try OtherStore { source, path, folder in
            let cache =
                cached ? ["--vfs-cache-mode", "full", "--cache-dir", try folder.makeFolder("cache")] : []
            try run("rclone", ["--config", "/dev/null", "mount", "--daemon"] + cache + [":local:\(source)", path])
            return nil
        }
    }

    /// What the pass-through answers.
    @discardableResult func ask(_ words: String) throws -> String {
        guard let program else { throw HarnessError("not a pass-through") }
        try program.send(words)
        return try program.line(to: words)
    }

    /// Its program and its servers are gone, and its mount is still there.
    func disconnect() { FuseConnection(at: path)?.abort() }
}
