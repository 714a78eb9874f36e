import Foundation
import Glibc

/// Files on the plain disk: the vault as an attacker or a backup program sees it.
public enum Disk {
    public static func read(_ path: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else { throw HarnessError("cannot read \(path)") }
        return [UInt8](data)
    }

    /// Writes in place: the inode stays.
    public static func write(_ bytes: [UInt8], to path: String) throws {
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

    public static func edit(_ path: String, _ change: (inout [UInt8]) throws -> Void) throws {
        var bytes = try read(path)
        try change(&bytes)
        try write(bytes, to: path)
    }

    public static func exists(_ path: String) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: path)) != nil
    }

    public static func target(ofLink path: String) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: path)
    }

    /// All files and folders below, relative, sorted; but a vault's claims, to which each process adds that opens it.
    public static func tree(_ path: String) -> [String] {
        (FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? [])
            .filter { !$0.hasPrefix("lk.claims") }.sorted()
    }
}
