public import Failure
public import Vault

extension ProtectedMount {
    /// How far the files of the vault are from having the new keys.
    public struct Rotation: Sendable {
        public enum Step: Sendable {
            /// Waits for an unlock, or for the next try.
            case waiting
            case renewing
            /// Makes the new keys durable, then deletes the old ones.
            case finishing
        }

        public let step: Step
        public let progress: RotationProgress
    }

    /// Says how to find out whether files have old keys, and how to delete those. Call it before `run`.
    ///
    /// - Parameters:
    ///   - areOld: must not block.
    ///   - finish: returns false while the vault is locked.
    ///   - finished: called after `finish` has succeeded.
    public func giveNewKeys(
        while areOld: @escaping @Sendable () -> Bool, finish: @escaping @Sendable () throws(Failure) -> Bool,
        finished: @escaping @Sendable () -> Void
    ) {
        rotator.use(KeyRotator.Keys(areOld: areOld, finish: finish, finished: finished))
    }

    /// Signals that old keys exist now, or that the rotation is to be tried again.
    public func rotate() { rotator.resumeUnlessPaused() }

    /// Nil if no file has an old key. Does not block.
    public var rotation: Rotation? { rotator.progress }
}
