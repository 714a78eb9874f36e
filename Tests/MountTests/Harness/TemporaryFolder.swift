import Foundation
import Glibc

/// A folder of one test, removed with all that it holds.
final class TemporaryFolder {
    let path: String

    /// In the usual place unless a test needs it elsewhere.
    init(in parent: String = Environment.temporary, mode: mode_t = 0o755) throws {
        var template = Array("\(parent)/latchkey-test.XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw HarnessError("mkdtemp in \(parent): errno \(errno)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        unsafe chmod(path, mode)
    }

    deinit {
        // Never through a mount: what is still mounted here is a failed test's, and its vault is not to be emptied.
        for line in mountLines(of: path).reversed() {
            unsafe umount2(mountPoint(line), Int32(MNT_DETACH))
        }
        try? FileManager.default.removeItem(atPath: path)
    }

    func path(_ name: String) -> String {
        path + "/" + name
    }

    func makeFolder(_ name: String, mode: mode_t = 0o755) throws -> String {
        guard unsafe mkdir(path(name), mode) == 0 else { throw HarnessError("mkdir \(name): errno \(errno)") }
        return path(name)
    }

    func write(_ text: String, to name: String, mode: mode_t = 0o600) throws -> String {
        try Disk.write(Array(text.utf8), to: path(name))
        unsafe chmod(path(name), mode)
        return path(name)
    }
}

/// Files on the plain disk: the vault as an attacker or a backup program sees it.
enum Disk {
    static func read(_ path: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else { throw HarnessError("cannot read \(path)") }
        return [UInt8](data)
    }

    /// In place: the inode stays.
    static func write(_ bytes: [UInt8], to path: String) throws {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw HarnessError("cannot write \(path): errno \(errno)") }
        defer { close(file) }
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(file, $0.baseAddress! + offset, $0.count - offset)
            }
            guard count > 0 else { throw HarnessError("cannot write \(path): errno \(errno)") }
            offset += count
        }
    }

    static func edit(_ path: String, _ change: (inout [UInt8]) throws -> Void) throws {
        var bytes = try read(path)
        try change(&bytes)
        try write(bytes, to: path)
    }

    static func exists(_ path: String) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: path)) != nil
    }

    static func target(ofLink path: String) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: path)
    }

    /// All files and folders below, relative, sorted.
    static func tree(_ path: String) -> [String] {
        (FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []).sorted()
    }
}
