import Glibc
import Posix

/// A file that only root or the caller can have written.
enum TrustedFile {
    /// In bytes; a policy has a few hundred.
    static let largest = 65_536

    struct Refusal: Error, Hashable {
        /// Without a capital at the beginning and a full stop at the end.
        let problem: String

        fileprivate init(_ problem: String) { self.problem = problem }

        fileprivate init(_ error: Errno) { problem = "it cannot be read: \(error)" }
    }

    /// The whole file; nil if there is none.
    /// - Throws: if it cannot be read, is too large, or another user owns it or can write to it.
    static func contents(of path: String) throws(Refusal) -> [UInt8]? {
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
