import Format
import Keybag
import Posix
import Store

extension File {
    /// Wraps the file's key for the class keys of now, if it is wrapped for those of before a rotation; whether it was.
    ///
    /// As crash-safe as a change of class, and nothing that stat(2) shows changes. `EBUSY` while a rename is under way
    /// that changes its class; `locked` when the class keys are away.
    func renewWrap() throws(VaultError) -> Bool {
        guard try lock.withShared({ () throws(VaultError) in try renewedProtection() }) != nil else { return false }
        // Flushes without the lock: whoever takes keys out of memory waits for that one.
        if lock.withShared({ state.writeback.isJournaled || !state.writeback.movedIn.isEmpty }) {
            try vault.checkpoint { vault.files.dirty([identity]) }
        }
        var isRenewed = false
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            // The wrap that it had at the old name must not stay in a header that names both.
            try flushBindings()
            guard state.writeback.currentProtection == nil else { throw .system(.EBUSY) }
            guard let protection = try renewedProtection() else { return true }
            if state.writeback.isJournaled || isStampSpent {
                // In the backing file at once: the journal's records have the old wrap.
                try checkpointAlone(confirming: false) { $0.protection = protection }
            } else {
                try changeHeader { $0.protection = protection }
            }
            isRenewed = true
            return true
        }
        if isRenewed, let status = try? vault.store.status(of: descriptor) { vault.noteCheckpoint(status, header) }
        return isRenewed
    }

    /// Nil for a file that has the keys of now. Needs `lock`.
    private func renewedProtection() throws(VaultError) -> FileProtection? {
        try vault.renewed(state.header.protection, of: identifier)
    }
}

extension Vault {
    /// The same protection with the key wrapped for the class keys of now; nil if it is already.
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
