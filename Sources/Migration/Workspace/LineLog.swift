import Crypto
import Glibc
import Posix
import Store

/// A file of lines that only grows. Each line has a check sum, because a crash may leave any part of the last ones.
///
/// For one thread.
final class LineLog {
    private let store: any Store
    private let file: Descriptor
    private var end: Int64
    private var pending: [UInt8] = []
    private static let digits = Array("0123456789abcdef".utf8)
    private static let checkCount = 8

    /// Opens the log, or makes it. `line` gets each line that is whole, from the first one on.
    ///
    /// Lines that are not whole are left out: a crash leaves such, and nothing was done because of them.
    init(_ name: Name, in folder: Descriptor, _ store: any Store, line: (ArraySlice<UInt8>) -> Void) throws(Errno) {
        self.store = store
        do throws(Errno) { file = try store.open(name, in: folder, O_RDWR | O_NONBLOCK) } catch .ENOENT {
            file = try store.open(name, in: folder, O_RDWR | O_CREAT | O_NONBLOCK, mode: 0o600)
            // Not every file system makes a new name durable with the file.
            try store.synchronize(folder, dataOnly: false)
        }
        end = 0
        let bytes = try Self.contents(of: file, store)
        for text in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard text.endIndex < bytes.endIndex, text.count > Self.checkCount,
                text.prefix(Self.checkCount).elementsEqual(Self.check(text.dropFirst(Self.checkCount)))
            else { continue }
            line(text.dropFirst(Self.checkCount))
            end = Int64(text.endIndex) + 1
        }
        if Int64(bytes.count) > end { try store.truncate(file, to: end) }
    }

    /// Adds a line, which contains no newline.
    func add(_ text: [UInt8]) {
        pending += Self.check(text[...])
        pending += text
        pending.append(UInt8(ascii: "\n"))
    }

    /// Writes what was added, and makes it durable.
    func flush() throws(Errno) {
        guard !pending.isEmpty else { return }
        let bytes = pending
        try unsafe store.write(bytes.span.bytes, to: file, at: end)
        end += Int64(bytes.count)
        pending = []
        try store.synchronize(file, dataOnly: true)
    }

    private static func check(_ text: ArraySlice<UInt8>) -> [UInt8] {
        let bytes = Array(text)
        return unsafe sha256(bytes.span.bytes).prefix(checkCount / 2).flatMap {
            [digits[Int($0 >> 4)], digits[Int($0 & 15)]]
        }
    }

    private static func contents(of file: Descriptor, _ store: any Store) throws(Errno) -> [UInt8] {
        let size = Int(try store.status(of: file).size)
        var bytes = [UInt8](repeating: 0, count: size)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        let count = try store.read(file, into: &span, at: 0)
        return Array(bytes.prefix(count))
    }
}

/// Fields of a line: numbers, and bytes in hexadecimal.
enum LineField {
    static func hex(_ bytes: [UInt8]) -> String {
        bytes.isEmpty ? "-" : bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    static func bytes(_ text: Substring) -> [UInt8]? {
        if text == "-" { return [] }
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}
