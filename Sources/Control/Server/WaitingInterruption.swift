/// While it lives, no request of a program waits for an unlock.
public final class WaitingInterruption: Sendable {
    private let end: @Sendable () -> Void

    /// - Parameter end: called once, when this is released.
    public init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
