import Crypto
import Format
import Keybag
import Posix
import Store

extension File {
    /// Sets the class of the file explicitly.
    ///
    /// An empty file that gets a stricter class gets a new key too, so that no weaker wrap of its key was ever on
    /// disk. `locked` when the key of the old or of the new class is away, also if the file key itself is at hand:
    /// what a class promises about changes of class holds for open files as well.
    public func setClass(_ protectionClass: ProtectionClass) throws(VaultError) {
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            let old = state.header.protectionClass
            guard vault.ring.has(old) else { throw .locked }
            // Where it stood before a rename it must not stay in the class that it had there.
            try flushBindings()
            if state.length == 0 && protectionClass.isStricter(than: old) {
                let fresh = FileKey(
                    try authentic("") { () throws(CryptoError) in try Secret(random: 32) }, countedBy: vault.fileKeys)
                let wrap = try self.wrap(fresh, for: protectionClass)
                // What lies beyond the length belongs to the old key, and is truncated before anything is written.
                state.hasStaleTail = true
                try changeProtection(FileProtection(protectionClass, isExplicit: true, wrap))
                key.withLock { if $0 != nil { $0 = fresh } }
            } else {
                let wrap = try rewrapped(for: protectionClass)
                try changeProtection(FileProtection(protectionClass, isExplicit: true, wrap))
            }
            return true
        }
    }

    /// In the backing file at once: what somebody looks at there is what he has asked for, and the wrap for a weaker
    /// class is gone from it. Needs `lock` exclusively, and room in the journal.
    private func changeProtection(_ protection: FileProtection) throws(VaultError) {
        noteTouch()
        guard state.writeback.isJournaled || isStampSpent else {
            return try changeHeader { $0.protection = protection }
        }
        try checkpointAlone(confirming: false) { $0.protection = protection }
    }

    /// Clears the mark of an explicit class. The class itself stays: removing an attribute weakens nothing.
    public func clearExplicitMark() throws(VaultError) {
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            guard state.header.protection.isExplicit else { return true }
            try flushBindings()
            noteTouch()
            try changeHeader { $0.protection.isExplicit = false }
            return true
        }
    }

    /// The wrap of this file's key for a class: the one it has, if that is its class. Needs `lock`.
    func rewrapped(for protectionClass: ProtectionClass) throws(VaultError) -> FileKeyWrap {
        let header = state.header
        if header.protectionClass == protectionClass {
            return FileKeyWrap(algorithm: header.protection.wrapAlgorithm, bytes: header.protection.wrap)
        }
        return try wrap(try currentKey(), for: protectionClass)
    }

    private func wrap(_ key: FileKey, for protectionClass: ProtectionClass) throws(VaultError) -> FileKeyWrap {
        do {
            return try vault.ring.wrap(key.secret, file: identifier, class: protectionClass)
        } catch { throw VaultError(error) }
    }
}

extension FileProtection {
    package init(_ protectionClass: ProtectionClass, isExplicit: Bool, _ wrap: FileKeyWrap) {
        self.init(
            protectionClass: protectionClass, isExplicit: isExplicit, wrapAlgorithm: wrap.algorithm, wrap: wrap.bytes)
    }
}
