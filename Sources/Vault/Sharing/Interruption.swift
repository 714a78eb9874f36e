import Format
import Posix

/// A rename that a crash has interrupted, of a file that other machines may read meanwhile.
struct Interruption {
    /// The name that the file keeps; nil if it keeps all of its links.
    let binding: NameBinding?
}

extension Vault {
    /// Ends a rename that a crash has interrupted, if there is one. Needs a write lease of the file, which `openFile`
    /// need not have.
    public func finishRename(of file: File) throws(VaultError) {
        guard isShared, let interruption = file.interruption.withLock({ $0 }) else { return }
        if interruption.binding != nil { try shareSidecar(of: file) }
        try file.stay(at: interruption.binding)
        file.interruption.withLock { $0 = nil }
    }
}
