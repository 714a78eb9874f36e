import Glibc
import Posix

/// A file that only root or the caller can have written.
public enum TrustedFile {
    /// In bytes; a policy has a few hundred.
    public static let largest = 65_536

    public struct Refusal: Error, Hashable, Sendable {
        /// Without a capital at the beginning and a full stop at the end.
        public let problem: String

        /// Counted from 1; nil if the whole file is refused.
        public let line: Int?

        fileprivate init(_ problem: String, line: Int? = nil) {
            self.problem = problem
            self.line = line
        }

        fileprivate init(_ error: Errno) { self.init("it cannot be read: \(error)") }
    }

    /// The whole file; nil if there is none.
    /// - Throws: if it cannot be read, is too large, or another user owns it or can write to it.
    public static func contents(of path: String) throws(Refusal) -> [UInt8]? {
        guard let file = try open(path) else { return nil }
        // Of the open file, because the path may lead to another one by now.
        try check(try reading { () throws(Errno) in try file.status() })
        var bytes = [UInt8](repeating: 0, count: largest + 1)
        let count = try reading { () throws(Errno) in
            var elements = bytes.mutableSpan
            var buffer = unsafe elements.mutableBytes
            return try file.read(into: &buffer, at: 0)
        }
        guard count <= largest else { throw Refusal("it has more than \(largest) bytes") }
        return Array(bytes.prefix(count))
    }

    /// The whole file as text; nil if there is none.
    /// - Throws: as `contents` does, and for bytes that are no UTF-8, with their line.
    public static func text(of path: String) throws(Refusal) -> String? {
        guard let bytes = try contents(of: path) else { return nil }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let line = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .firstIndex { String(validating: $0, as: UTF8.self) == nil }
        throw Refusal("it is no text in UTF-8", line: line.map { $0 + 1 })
    }

    private static func open(_ path: String) throws(Refusal) -> Descriptor? {
        do {
            // Nonblocking: the path may lead to a FIFO.
            return try Descriptor.open(path: path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
        } catch .ENOENT where !isDanglingLink(path) {
            return nil
        } catch {
            throw Refusal(error)
        }
    }

    private static func reading<Result>(_ body: () throws(Errno) -> Result) throws(Refusal) -> Result {
        do throws(Errno) { return try body() } catch { throw Refusal(error) }
    }

    /// Whether the file is missing because a link leads nowhere, such as to a disk that is not mounted. Then a policy
    /// should exist.
    private static func isDanglingLink(_ path: String) -> Bool {
        (try? Descriptor.open(path: path, O_PATH | O_NOFOLLOW)) != nil
    }

    private static func check(_ status: FileStatus) throws(Refusal) {
        guard status.kind == .regular else { throw Refusal("it is no regular file") }
        guard [0, geteuid()].contains(status.owner) else {
            throw Refusal("it belongs to user \(status.owner): it must be root's or your own")
        }
        // An access control list that grants write access shows in the group's bits, which are its mask.
        guard status.permissions & (S_IWGRP | S_IWOTH) == 0 else {
            let mode = String(status.permissions, radix: 8)
            throw Refusal("users other than its owner can write to it: its mode is 0\(mode)")
        }
    }
}
