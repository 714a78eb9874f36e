public import Failure

extension ControlClient {
    /// Holds the lock: after a lock and its grace period, the keys stay for up to `seconds` more, as long as this
    /// connection lasts. It cannot be used for other calls afterwards.
    ///
    /// - Parameters:
    ///   - command: what the caller runs, for people; the daemon cuts it at 200 bytes.
    ///   - because: why, likewise.
    /// - Returns: the seconds that were granted; the policy may allow less.
    /// - Throws: `mountLocked` if the keys are gone, `forbidden` if the policy allows no hold.
    public func hold(
        seconds: Double, command: String? = nil, because: String? = nil
    ) throws(Failure) -> Double {
        let parameters = HoldParameters(seconds: seconds, command: command, because: because)
        let reply: HoldReply = try beginReplies("Hold", parameters)
        return reply.seconds
    }

    /// Waits until the hold that `hold` has begun ends, without limit.
    ///
    /// - Throws: `disconnected` if the connection has ended before: by `disconnect`, or because the daemon has ended.
    public func endOfHold() throws(Failure) -> HoldEnd {
        while true {
            let reply: HoldReply = try nextReply()
            if let end = reply.ended { return end }
        }
    }
}
