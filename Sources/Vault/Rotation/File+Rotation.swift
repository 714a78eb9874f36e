import Format
import Keybag
import Posix
import Store
import Writeback

extension File {
    /// Wraps the file's key with the current class keys if it is wrapped with the previous ones. Returns whether it
    /// was.
    ///
    /// As crash-safe as a change of class; nothing that stat(2) shows changes. `EBUSY` during a rename that changes its
    /// class; `locked` if the class keys are evicted.
    func renewWrap() throws(VaultError) -> Bool {
        try refuseStale()
        guard try lock.withShared({ () throws(VaultError) in try renewedProtection() }) != nil else { return false }
        // Flushes without the lock: eviction of keys waits for that lock.
        if lock.withShared({ state.journal.hasRecords || state.names.hasChanges }) {
            try vault.checkpoint { vault.files.dirty([identity]) }
        }
        var isRenewed = false
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            // A header with two bindings has a wrap for each, and no old wrap may stay in it.
            try flushBindings()
            guard state.names.currentProtection == nil else { throw .system(.EBUSY) }
            guard let protection = try renewedProtection() else { return true }
            if state.placeOfHeader(isStampSpent: isStampSpent) == .journal {
                // At once in the backing file: the journal's records have the old wrap.
                try checkpointAlone(CheckpointRequest(confirming: false)) { $0.protection = protection }
            } else {
                try changeHeader { $0.protection = protection }
            }
            isRenewed = true
            return true
        }
        if isRenewed, let status = try? vault.store.status(of: descriptor) { vault.noteCheckpoint(status, header) }
        return isRenewed
    }

    /// The renewed protection; nil if the file already has the current keys. Needs `lock`.
    private func renewedProtection() throws(VaultError) -> FileProtection? {
        try vault.renewed(state.header.protection, of: identifier)
    }
}

extension Vault {
    /// The same protection with the file key wrapped by the current class keys; nil if it already is.
    func renewed(_ protection: FileProtection, of file: FileIdentifier) throws(VaultError) -> FileProtection? {
        let wrap: FileKeyWrap?
        do throws(KeyRingError) {
            wrap = try ring.renewed(
                FileKeyWrap(algorithm: protection.wrapAlgorithm, bytes: protection.wrap), file: file,
                class: protection.protectionClass)
        } catch { throw VaultError(error) }
        return wrap.map { FileProtection(protection.protectionClass, isExplicit: protection.isExplicit, $0) }
    }
}
