import Foundation
import Glibc
public import Posix

/// A temporary folder of one test, removed with its contents.
public final class TemporaryFolder: Sendable {
    public let path: String

    /// In the usual place unless a test needs it elsewhere.
    public init(in parent: String = Environment.temporary, mode: mode_t = 0o755) throws {
        var template = Array("\(parent)/latchkey-test.XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw HarnessError("mkdtemp in \(parent): errno \(errno)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        unsafe chmod(path, mode)
    }

    deinit {
        // Never through a mount: a mount that is left here belongs to a failed test, and its vault must not be emptied.
        for line in mountLines(of: path).reversed() {
            unsafe umount2(mountPoint(line), Int32(MNT_DETACH))
        }
        try? descriptor().removeContents()
        unsafe rmdir(path)
    }

    public func descriptor() throws(Posix.Errno) -> Descriptor {
        try .open(path: path, O_RDONLY | O_DIRECTORY)
    }

    public func path(_ name: String) -> String {
        path + "/" + name
    }

    public func makeFolder(_ name: String, mode: mode_t = 0o755) throws -> String {
        guard unsafe mkdir(path(name), mode) == 0 else { throw HarnessError("mkdir \(name): errno \(errno)") }
        unsafe chmod(path(name), mode)
        return path(name)
    }

    public func write(_ text: String, to name: String, mode: mode_t = 0o600) throws -> String {
        try Disk.write(Array(text.utf8), to: path(name))
        unsafe chmod(path(name), mode)
        return path(name)
    }
}
