import Control
import Failure
import Logging
import Posix

extension MountLock {
    /// A client for which a lock waits.
    struct Holder {
        let hold: Hold
        let ending: HoldEnding
    }

    /// Lets a lock wait for a client.
    ///
    /// - Parameter wanted: who asks, and for how many seconds; its texts are bounded.
    func hold(_ wanted: Hold) throws(Failure) -> GrantedHold {
        let ending = try HoldEnding()
        var hold = wanted
        hold.seconds = min(wanted.seconds, facts.longestHold.seconds)
        let number = try state.withLock { state throws(Failure) in
            let now = BootClock.now
            guard state.holdRate.take(at: now) else { throw .tooManyHolds }
            // A mount that is to end waits for no program.
            guard !state.isDetached, !state.isEnding else { throw .mountLocked }
            switch state.machine.refusalOfHold(at: now) {
            case .forbidden: throw .forbidden(reason: facts.noHolds ?? "there are no holds")
            case .locked: throw .mountLocked
            case .tooMany: throw .tooManyHolds
            case nil: break
            }
            let time = Duration.seconds(hold.seconds)
            guard time > .zero else { throw .invalidParameter(parameter: "seconds") }
            state.holds += 1
            let number = state.holds
            let effects = state.machine.handle(.hold(number, time), at: now)
            // What is listed as a hold is one: for another, no lock waits.
            if state.machine.holds[number] != nil {
                state.holders[number] = Holder(hold: hold, ending: ending)
                log.notice("hold begun", metadata: Self.metadata(hold))
                tell(.didBeginHold, &state)
            } else {
                // The lock waits for others, and has waited longer than this one wants.
                log.notice("hold asked for when its time was over", metadata: Self.metadata(hold))
                ending.end(.timeOver)
            }
            carryOut(effects, &state)
            return number
        }
        return GrantedHold(seconds: hold.seconds, ending: ending) { [self] in release(number) }
    }

    private func release(_ number: UInt64) {
        state.withLock { state in
            // Nil if it has ended already.
            guard let holder = state.holders.removeValue(forKey: number) else { return }
            let effects = state.machine.handle(.release(number), at: BootClock.now)
            noteEnd(of: holder.hold, "released")
            tell(.didEndHold, &state)
            carryOut(effects, &state)
        }
    }

    /// Runs under the mutex.
    ///
    /// - Parameter tells: whether it is the last one that ends now, with which clients that monitor are told.
    func endHold(_ number: UInt64, _ end: HoldEnd, tells: Bool, _ state: inout State) {
        // Nil if its time was over when it was asked for.
        if let holder = state.holders.removeValue(forKey: number) {
            noteEnd(of: holder.hold, end.rawValue)
            holder.ending.end(end)
            state.hasUntoldEnds = true
        }
        guard tells, state.hasUntoldEnds else { return }
        state.hasUntoldEnds = false
        tell(.didEndHold, &state)
    }

    /// Runs under the mutex.
    func announceHeld(_ state: inout State) {
        for hold in holds(of: state) ?? [] { log.notice("the lock waits for a hold", metadata: Self.metadata(hold)) }
        tell(.didBecomeHeld, &state)
    }

    /// In the order in which they began; nil if there are none.
    func holds(of state: State) -> [Hold]? {
        guard !state.holders.isEmpty else { return nil }
        return state.holders.sorted { $0.key < $1.key }.map(\.value.hold)
    }

    private func noteEnd(of hold: Hold, _ why: String) {
        log.notice("hold ended", metadata: Self.metadata(hold).merging(["why": "\(why)"]) { $1 })
    }

    /// The texts are the client's own: they must forge neither a line of the log nor a field of one.
    private static func metadata(_ hold: Hold) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "process": "\(hold.pid)", "user": "\(hold.uid)", "seconds": "\(hold.seconds)",
        ]
        if let command = hold.command { metadata["command"] = .stringConvertible(Self.quoted(command)) }
        if let because = hold.because { metadata["because"] = .stringConvertible(Self.quoted(because)) }
        return metadata
    }

    /// The escape of a quotation mark cannot be mistaken: a backslash of the text is two.
    private static func quoted(_ text: String) -> Printable {
        Printable(verbatim: "\"" + Printable(text).text.replacing("\"", with: "\\\"") + "\"")
    }
}
