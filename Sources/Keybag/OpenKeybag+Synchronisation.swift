public import Failure
import Format

extension OpenKeybag {
    /// Makes the vault a synchronised one. No program of an earlier version opens it any more, and none that has it
    /// open knows of it: the caller holds the vault.
    ///
    /// - Parameters:
    ///   - credential: one that opens the vault now.
    ///   - preparing: brings the vault to where no program has left anything that only a vault of the other kind
    ///     shows. It is called once the credential has opened the keybag; if it throws, the keybag stays as it was.
    /// - Throws: what `unlock` and `preparing` do; `io` if the store is read-only. Then the keybag has not changed.
    public func becomeSynchronised(
        opening credential: borrowing Credential, preparing: () throws(Failure) -> Void
    ) throws(Failure) {
        try change(opening: credential) { (file, _) throws(Failure) in
            try preparing()
            file.becomeSynchronised()
        }
        // Records of directories are files from now on, which the previous keybag does not expect.
        storage.forgetPrevious()
    }
}
