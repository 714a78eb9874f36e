import Format
import Posix
import Store

// The journal is one file of always the same size: only its time tells a copy by size and time that it has other
// contents.

extension Journal {
    /// It may run ahead of the clock by so many seconds, two for each flush, before it begins anew.
    private static let span: Int64 = 86_400

    /// What is in the journal by now a copy must have: gives it a time that it never had, or that none but a copy of
    /// a day ago can have seen. Needs `state`.
    func stampAnew(_ state: inout State) throws(Errno) {
        let now = Timespec.now.seconds
        if state.stamp == .min { state.stamp = try store.status(of: file).modified.seconds }
        // Also past what the clock has given it since.
        state.stamp = FileHeader.evenSecond(from: max(now, state.stamp < now + Self.span ? state.stamp : now) + 2)
        try stamp(state)
    }

    /// After a write, which has set the clock's time: puts that back which it had. Needs `state`.
    func stamp(_ state: borrowing State) throws(Errno) {
        guard state.stamp != .min else { return }
        try store.setTimes(
            accessed: .keep, modified: .at(Timespec(seconds: state.stamp, nanoseconds: 0)), of: file)
    }
}
