/// A part of a large read, which is made at the same time as the others.
struct CallPart: Sendable {
    /// Which bytes of the whole.
    let range: Range<Int>
    let memory: CallMemory
    /// The thread that makes it, if it is not the one that the call has anyway.
    let helper: SpareThreads.Loan?
}

extension StoreCalls {
    /// A client of a store such as GlusterFS or sshfs asks for so many bytes at once, and the next ones when the server
    /// has answered.
    private static let step = 128 << 10
    private static let mostParts = 4

    /// Divides a read among threads, as far as some are spare.
    ///
    /// - Parameter count: bytes.
    /// - Returns: at least one part; they lie one behind the other.
    func parts(of count: Int) -> [CallPart] {
        let helpers = takeHelpers(atMost: min(Self.mostParts, count / Self.step) - 1)
        let steps = (count + Self.step - 1) / Self.step
        let size = (steps + helpers.count) / (helpers.count + 1) * Self.step
        var parts: [CallPart] = []
        var start = 0
        repeat {
            let range = start..<min(start + size, count)
            let helper = parts.isEmpty ? nil : helpers[parts.count - 1]
            parts.append(CallPart(range: range, memory: CallMemory(byteCount: range.count), helper: helper))
            start = range.upperBound
        } while start < count
        return parts
    }
}
