public import Posix

/// The answer to one question about a store, with the error that led to it.
public struct StoreFact: Hashable, Sendable {
    public enum Answer: Hashable, Sendable {
        case yes
        case no
        case number(Int64)
        /// It was not tried, or the try says nothing.
        case unknown
    }

    public let answer: Answer
    public let errno: Errno?

    public init(_ answer: Answer, _ errno: Errno? = nil) {
        self.answer = answer
        self.errno = errno
    }

    public static let yes = StoreFact(.yes)
    public static let no = StoreFact(.no)
    public static let unknown = StoreFact(.unknown)

    public static func number(_ number: some BinaryInteger) -> StoreFact { StoreFact(.number(Int64(clamping: number))) }

    /// What a call that failed says: that the store cannot do it, or nothing, if the reason is a state that passes.
    init(refused errno: Errno) { self.init(Self.passing.contains(errno) ? .unknown : .no, errno) }

    /// A full or read-only disk, lack of memory or descriptors, and a server that is away.
    private static let passing: Set<Errno> = [
        .ENOSPC, .EDQUOT, .EROFS, .ENOMEM, .ENOBUFS, .EMFILE, .ENFILE, .EINTR, .ENOTCONN, .ECONNREFUSED, .ECONNRESET,
        .ETIMEDOUT, .ESTALE,
    ]

    var isYes: Bool { answer == .yes }
    var isNo: Bool { answer == .no }

    var number: Int64? {
        if case .number(let number) = answer { number } else { nil }
    }
}
