import CLinux

/// A pipe; both ends are close-on-exec.
///
/// Source: pipe(2).
public struct Pipe: Sendable {
    public let readEnd: Descriptor
    public let writeEnd: Descriptor

    public init() throws(Errno) {
        var ends: [Int32] = [-1, -1]
        try perform { unsafe lk_pipe(&ends) }
        readEnd = Descriptor(owning: ends[0])
        writeEnd = Descriptor(owning: ends[1])
    }
}
