import Posix
import Store
import Writeback

extension Journal {
    /// Makes all records up to a sequence number durable. Threads that call this while a flush is under way wait for
    /// it, and then one flush serves all of them.
    func flush(upTo sequence: UInt64) throws(Errno) {
        guard try needsFlush(upTo: sequence) else { return }
        try flushing.withLock { _ throws(Errno) in
            guard try needsFlush(upTo: sequence) else { return }
            let target = state.withLock { state in
                state.isSealed = true
                try? stampAnew(&state)
                return state.records.appended
            }
            try synchronize()
            state.withLock { $0.records.durable = target }
        }
    }

    /// Flushes the file, whatever is in it.
    func synchronize() throws(Errno) {
        do throws(Errno) {
            try store.synchronize(file, dataOnly: true)
        } catch {
            // A flush that was given up has made nothing durable for sure; the next one tells how it ended.
            if error != .notAnswered { state.withLock { $0.failure = error } }
            throw error
        }
    }

    func flush() throws(Errno) {
        try flush(upTo: state.withLock { $0.records.appended })
    }

    private func needsFlush(upTo sequence: UInt64) throws(Errno) -> Bool {
        try state.withLock { state throws(Errno) in
            if let failure = state.failure { throw failure }
            return state.records.durable < sequence
        }
    }

    /// The number of the last record that is durable.
    var durable: UInt64 { state.withLock { $0.records.durable } }
}
