import Posix
import Vault
import VaultCheck

/// How a check ended.
struct FsckOutcome {
    let progress: CheckProgress
    let seconds: Double
    /// The signal that interrupted it.
    let signal: Int32?
    /// The error that stopped it.
    let error: VaultError?
    let readsContents: Bool
    let repairs: Bool
    let salvages: Bool
    /// The letters of the classes whose keys were in memory.
    let classes: [String]

    var isComplete: Bool { signal == nil && error == nil }

    /// Nil for success.
    var code: CommandError.Code? {
        if progress.damaged > 0 { return .damaged }
        return progress.unchecked > 0 || error != nil ? .failed : nil
    }

    /// The error to report if `error` has stopped the check.
    func failure(of vault: Path) -> CommandError? {
        guard let error else { return nil }
        let doing = repairs ? "repair" : "check"
        return switch error {
        case .damaged(let reason): CommandError(.damaged, "cannot \(doing) \(vault) to the end: \(reason)")
        case .unsupported(let reason): CommandError(.failed, "cannot \(doing) \(vault) with this version: \(reason)")
        case .unseen(let reason), .stale(let reason):
            CommandError(.failed, "cannot \(doing) \(vault) to the end: \(reason)")
        case .system(let errno): CommandError(.failed, "cannot \(doing) \(vault) to the end: \(errno)")
        case .locked: CommandError(.locked, "cannot \(doing) \(vault) to the end: it takes the passcode")
        }
    }

    /// Ends the process as the signal would have done, after a clean end of the check: a shell loop must end too.
    func deliverSignal() {
        if let signal { Interruption.die(of: signal) }
    }
}
