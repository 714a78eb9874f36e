public import Failure
public import Vault

extension ProtectedMount {
    /// How far the files are from having the new keys.
    public struct Rotation: Sendable {
        public enum Step: Sendable {
            /// For an unlock, or for the next try.
            case waiting
            case renewing
            /// What was done is made durable, and the old keys go.
            case finishing
        }

        public let step: Step
        public let progress: RotationProgress
    }

    /// Before `run`: what tells whether files have old keys, and lets go of those.
    ///
    /// - Parameters:
    ///   - areOld: answers at once.
    ///   - finish: false while the vault is locked.
    ///   - finished: called when that has been done.
    public func giveNewKeys(
        while areOld: @escaping @Sendable () -> Bool, finish: @escaping @Sendable () throws(Failure) -> Bool,
        finished: @escaping @Sendable () -> Void
    ) {
        rotator.use(KeyRotator.Keys(areOld: areOld, finish: finish, finished: finished))
    }

    /// There are old keys by now, or it is to be tried again.
    public func rotate() { rotator.resumeUnlessPaused() }

    /// Nil if no file has an old key. Answers at once.
    public var rotation: Rotation? { rotator.progress }
}
