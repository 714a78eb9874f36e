import Glibc
import Posix
import Synchronization

/// Makes the calls of a `BoundedStore` on threads of their own, and gives them up in a hurry.
final class StoreCalls: Sendable {
    private struct State {
        /// The calls that have callers.
        var awaited: [ObjectIdentifier: any QueuedStoreCall] = [:]
        var givenUp = GivenUpCalls()
    }

    /// As many as a daemon has threads that may wait for a store, and more: a thread that hangs in the store is missing
    /// until that answers.
    private let threadCount: Int
    private let threads: StoreThreads
    private let helpers: SpareThreads
    private let hurries = Hurries()
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Monitor(State())
    /// `State.givenUp` is not empty: then a call has to look at it.
    private let hasGivenUp = Atomic(false)

    /// - Parameter helpers: so many threads more, for parts of calls.
    /// - Throws: why a thread cannot be created.
    init(threads count: Int, helpers: Int) throws(Errno) {
        threadCount = count + helpers
        self.helpers = SpareThreads(count: helpers)
        threads = try StoreThreads(count: count + helpers)
    }

    /// At most so many threads that help the caller's own call, each as long as its object exists.
    func takeHelpers(atMost count: Int) -> [SpareThreads.Loan] {
        var taken: [SpareThreads.Loan] = []
        while taken.count < count, let loan = helpers.take() { taken.append(loan) }
        return taken
    }

    /// Ends the threads when they have made the calls that were added.
    func stop() { threads.stop() }

    /// Makes a call and waits for its end; in a hurry not longer than that allows.
    ///
    /// - Parameter files: those that it concerns: the file itself, or the folders of its names.
    /// - Throws: `notAnswered` if the call was given up; else what `body` throws.
    func make<Result: Sendable>(
        _ kind: StoreCallKind, _ files: [Descriptor], _ body: @escaping StoreCall<Result>.Body
    ) throws(Errno) -> Result {
        let start = MonotonicClock.now
        try awaitTurn(kind, files, since: start)
        return try outcome(of: send(body), kind, files, since: start).get()
    }

    /// As `make`, for a call that changes nothing, which is repeated if the store fails for a moment; not in a hurry.
    func look<Result: Sendable>(
        _ files: [Descriptor], _ body: @escaping StoreCall<Result>.Body
    ) throws(Errno) -> Result {
        try make(.look, files, repeated(body))
    }

    /// As `look`, for calls that are made at the same time.
    ///
    /// - Returns: the outcome of each; all have ended, or were given up.
    func look<Result: Sendable>(
        _ files: [Descriptor], atOnce bodies: [StoreCall<Result>.Body]
    ) throws(Errno) -> [StoreCall<Result>.Outcome] {
        let start = MonotonicClock.now
        try awaitTurn(.look, files, since: start)
        let sent = bodies.map { send(repeated($0)) }
        return sent.map { outcome(of: $0, .look, files, since: start) }
    }

    private func repeated<Result>(_ body: @escaping StoreCall<Result>.Body) -> StoreCall<Result>.Body {
        { [weak self] () throws(Errno) in
            var repetition = StoreRepetition()
            while true {
                do throws(Errno) { return try body() } catch {
                    guard let self, let pause = repetition.pause(after: error), self.hurries.current == nil else {
                        throw error
                    }
                    usleep(pause)
                }
            }
        }
    }

    /// Closes a descriptor. In a hurry the caller does not wait for the end longer than that allows.
    func close(_ number: Int32) {
        guard !threads.isCurrent else { return Descriptor.close(number) }
        let start = MonotonicClock.now
        let isHanging = state.withLock { state in
            hurries.current.map { state.givenUp.showHanging(for: .flush, in: $0) } ?? false
        }
        let call = StoreCall<Void>({ Descriptor.close(number) }, endedLate: { _, _ in })
        guard !isHanging else { return threads.add(call) }
        send(call)
        _ = end(of: call, since: start)
    }

    private func send<Result>(_ body: @escaping StoreCall<Result>.Body) -> StoreCall<Result> {
        let call = StoreCall(body) { [weak self] call, outcome in self?.note(lateEndOf: call, outcome) }
        send(call)
        return call
    }

    /// Has a call made. The caller is to wait for its end.
    private func send<Result>(_ call: StoreCall<Result>) {
        state.withLock { $0.awaited[ObjectIdentifier(call)] = call }
        threads.add(call)
    }

    /// Waits for the end of a call that was sent; gives it up if a hurry does not allow to wait.
    private func outcome<Result>(
        of call: StoreCall<Result>, _ kind: StoreCallKind, _ files: [Descriptor], since start: Duration
    ) -> StoreCall<Result>.Outcome {
        end(of: call, since: start) ?? giveUp(call, kind, files)
    }

    /// Nil if a hurry does not allow to wait for the end.
    private func end<Result>(of call: StoreCall<Result>, since start: Duration) -> StoreCall<Result>.Outcome? {
        defer { state.withLock { $0.awaited[ObjectIdentifier(call)] = nil } }
        return call.outcome(atMost: { hurries.patience(since: start) })
    }

    // MARK: Hurries

    func begin(_ hurry: Hurry) {
        hurries.begin(hurry)
        for call in state.withLock({ Array($0.awaited.values) }) { call.wakeForLimit() }
        state.wakeAllForLimit()
    }

    func finish(_ hurry: Hurry) { hurries.finish(hurry) }

    var mayStillChange: Bool { state.withLock { $0.givenUp.mayChange } }

    /// How many calls were given up so far.
    var givenUpCount: Int { state.withLock { $0.givenUp.total } }

    /// Returns when no call that was given up can change the store any more; in a hurry, when that allows no longer
    /// wait.
    func awaitGivenUp() {
        let start = MonotonicClock.now
        state.wait(atMost: { hurries.patience(since: start) }) { $0.givenUp.mayChange ? nil : () }
    }

    // MARK: Calls that were given up

    /// Waits for the calls that were given up and that this one must not overtake.
    private func awaitTurn(_ kind: StoreCallKind, _ files: [Descriptor], since start: Duration) throws(Errno) {
        guard hasGivenUp.load(ordering: .sequentiallyConsistent) else { return }
        let inodes = Self.inodes(of: files)
        let turn = state.wait(atMost: { hurries.patience(since: start) }) { state -> Swift.Result<Void, Errno>? in
            if let failure = state.givenUp.failure(of: kind, inodes) { return .failure(failure) }
            let isDelayed = state.givenUp.delays(kind, inodes)
            guard let hurry = hurries.current else { return isDelayed ? nil : .success(()) }
            let cannotEnd =
                isDelayed || state.givenUp.count >= threadCount || state.givenUp.showHanging(for: kind, in: hurry)
            return cannotEnd ? .failure(.notAnswered) : .success(())
        }
        try (turn ?? .failure(.notAnswered)).get()
    }

    private func giveUp<Result>(
        _ call: StoreCall<Result>, _ kind: StoreCallKind, _ files: [Descriptor]
    ) -> StoreCall<Result>.Outcome {
        let (name, inodes) = (ObjectIdentifier(call), Self.inodes(of: files))
        // Before it counts as given up: no other call may come between.
        change { $0.add(name, kind, inodes, in: hurries.current) }
        switch call.giveUp() {
        case .ended(let outcome):
            change { $0.remove(name, failure: nil) }
            return outcome
        case .unsent: change { $0.noteGivenUp(name, isSent: false) }
        case .sent: change { $0.noteGivenUp(name, isSent: true) }
        }
        return .failure(.notAnswered)
    }

    private func note<Result>(lateEndOf call: StoreCall<Result>, _ outcome: StoreCall<Result>.Outcome) {
        var failure: Errno?
        if case .failure(let error) = outcome { failure = error }
        change { $0.remove(ObjectIdentifier(call), failure: failure) }
    }

    private func change(_ body: (inout GivenUpCalls) -> Void) {
        state.withLock { state in
            body(&state.givenUp)
            hasGivenUp.store(!state.givenUp.isEmpty, ordering: .sequentiallyConsistent)
        }
        state.wakeAll()
    }

    /// The store is not asked. Nil if it is not known of all of them.
    private static func inodes(of files: [Descriptor]) -> Set<KnownInode>? {
        var inodes: Set<KnownInode> = []
        for file in files {
            guard let inode = try? KnownInode(file) else { return nil }
            inodes.insert(inode)
        }
        return inodes
    }
}
