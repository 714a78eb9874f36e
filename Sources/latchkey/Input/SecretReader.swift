import Crypto
import Glibc
import Posix

/// Reads a passcode or a recovery key from a descriptor directly into locked memory.
///
/// It reads no further than the line, so that what follows stays in the descriptor, and keeps no copy in a buffer.
enum SecretReader {
    /// In bytes: the longest passcode that docs/FORMAT.md allows.
    static let largest = 1024

    /// Why nothing was read.
    enum Failure: Error {
        case empty
        case tooLong
        case io(Errno)
        case noMemory(CryptoError)
        /// The program that was to ask has not, or was interrupted.
        case unanswered(CommandError)

        static func failed(_ message: Printable, try advice: Printable...) -> Failure {
            .unanswered(CommandError(.failed, message, advice: advice))
        }
    }

    /// Called before each read: returns when there is something to read, or false if the end counts as reached.
    typealias Waiting = () throws(Failure) -> Bool

    /// One line without its newline; the end of the file ends it as well.
    static func line(
        from descriptor: Int32, waiting: Waiting = { () throws(Failure) in true }
    ) throws(Failure) -> Secret {
        try read(from: descriptor, step: 1, waiting) { $0 == UInt8(ascii: "\n") }
    }

    /// Everything up to the end of the file, without one trailing newline.
    static func contents(
        of descriptor: Int32, waiting: Waiting = { () throws(Failure) in true }
    ) throws(Failure) -> Secret {
        try read(from: descriptor, step: largest + 2, waiting) { _ in false }
    }

    /// Reads at most `step` bytes at a time until `isEnd` is true of the last one, or the file ends.
    private static func read(
        from descriptor: Int32, step: Int, _ waiting: Waiting, until isEnd: (UInt8) -> Bool
    ) throws(Failure) -> Secret {
        // One byte more for the newline, and one to detect that the secret is too long.
        var buffer = try memory { () throws(CryptoError) in try Secret(count: largest + 2) }
        var count = 0
        var last: UInt8 = 0
        while count < buffer.count, try waiting() {
            let received = buffer.withMutableBytes { bytes in
                unsafe bytes.withUnsafeMutableBytes { raw in
                    let room = unsafe UnsafeMutableRawBufferPointer(rebasing: raw[count...])
                    let received = unsafe Glibc.read(descriptor, room.baseAddress, min(step, room.count))
                    guard received > 0 else { return received < 0 ? -Int(errno) : 0 }
                    last = unsafe room[received - 1]
                    return received
                }
            }
            if received == -Int(EINTR) { continue }
            guard received >= 0 else { throw .io(Errno(rawValue: Int32(-received))) }
            guard received > 0 else { break }
            count += received
            if isEnd(last) { break }
        }
        if count > 0, last == UInt8(ascii: "\n") { count -= 1 }
        guard count > 0 else { throw .empty }
        guard count <= largest else { throw .tooLong }
        return try memory { () throws(CryptoError) in try buffer.slice(0..<count) }
    }

    private static func memory(_ body: () throws(CryptoError) -> Secret) throws(Failure) -> Secret {
        do { return try body() } catch { throw .noMemory(error) }
    }
}
