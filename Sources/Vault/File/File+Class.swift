import Crypto
import Format
import Keybag
import Posix
import Store
import Writeback

extension File {
    /// Sets the class of the file explicitly.
    ///
    /// An empty file that gets a stricter class gets a new key too, so that no weaker wrap of its key was ever on disk.
    /// `locked` when the class key of the old or of the new class is not in memory, even if the file key itself is:
    /// what a class promises about changes of class holds for open files as well.
    public func setClass(_ protectionClass: ProtectionClass) throws(VaultError) {
        try refuseStale()
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            let old = state.header.protectionClass
            guard vault.ring.has(old) else { throw .locked }
            // After a rename the header may still give the file another class at its old name: the file must not keep
            // it there.
            try flushBindings()
            if state.length == 0 && protectionClass.isStricter(than: old) {
                let fresh = FileKey(
                    try authentic("") { () throws(CryptoError) in try Secret(random: 32) },
                    countedBy: vault.memory.fileKeys)
                let wrap = try self.wrap(fresh, for: protectionClass)
                // What lies behind the length belongs to the old key. It is truncated before the next write.
                state.repair.mayHaveTail()
                try changeProtection(FileProtection(protectionClass, isExplicit: true, wrap))
                key.withLock { if $0 != nil { $0 = fresh } }
            } else {
                let wrap = try rewrapped(for: protectionClass)
                try changeProtection(FileProtection(protectionClass, isExplicit: true, wrap))
            }
            return true
        }
    }

    /// Changes the protection in the backing file at once: a user who inspects it finds the class that was asked for,
    /// and the wrap for a weaker class is gone from it. Needs `lock` exclusively, and room in the journal.
    private func changeProtection(_ protection: FileProtection) throws(VaultError) {
        noteTouch()
        guard state.placeOfHeader(isStampSpent: isStampSpent) == .journal else {
            return try changeHeader { $0.protection = protection }
        }
        try checkpointAlone(CheckpointRequest(confirming: false)) { $0.protection = protection }
    }

    /// Clears the mark of an explicit class. The class itself stays: removing an attribute weakens nothing.
    public func clearExplicitMark() throws(VaultError) {
        try refuseStale()
        try withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            guard state.header.protection.isExplicit else { return true }
            try flushBindings()
            noteTouch()
            try changeHeader { $0.protection.isExplicit = false }
            return true
        }
    }

    /// The wrap of this file's key for a class; if the file has that class already, its present wrap. Needs `lock`.
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
