import Format
import Posix
import Store

// The journal is one file whose size stays the same. A copier that compares size and time sees only by the time that it
// has other contents.

extension Journal {
    /// The stamp may run ahead of the clock by so many seconds, two for each flush, before it starts from the clock
    /// again.
    private static let span: Int64 = 86_400

    /// Gives the journal a time that it never had, or that only a copy made a day ago can have seen: a later copy must
    /// have what is in the journal by now. Needs `state`.
    func stampAnew(_ state: inout State) throws(Errno) {
        let now = Timespec.now.seconds
        if state.times.stamp == .min { state.times.stamp = try store.status(of: file).modified.seconds }
        // Later also than the time that the clock has given the file since.
        let latest = max(state.times.stamp, state.times.clock)
        state.times.stamp = FileHeader.evenSecond(from: max(now, latest < now + Self.span ? latest : now) + 2)
        try stamp(state)
    }

    /// After a write, which has set the file's time to the clock's: sets the stamp again, unless the clock has passed
    /// it. A copy that has the clock's time lacks no more than records that have not been flushed, because a flush
    /// stamps the file anew. Needs `state`.
    func stampAfterWrite(_ state: inout State) throws(Errno) {
        let now = Timespec.now.seconds
        // A clock that was set back gives times that a copy may have seen.
        if now > state.times.stamp, now >= state.times.clock {
            state.times.clock = now
        } else {
            try stamp(state)
        }
    }

    private func stamp(_ state: borrowing State) throws(Errno) {
        guard state.times.stamp != .min else { return }
        try store.setTimes(
            accessed: .keep, modified: .at(Timespec(seconds: state.times.stamp, nanoseconds: 0)), of: file)
    }
}
