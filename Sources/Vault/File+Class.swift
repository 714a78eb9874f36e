import Crypto
import Format
import Keybag
import Posix
import Store

extension FileHeader {
    /// Takes a class, its mark, and the wrap of the file key that belongs to it.
    mutating func take(_ protectionClass: ProtectionClass, _ isExplicit: Bool, _ wrap: FileKeyWrap) {
        self.protectionClass = protectionClass
        if isExplicit { flags.insert(.explicitClass) } else { flags.remove(.explicitClass) }
        wrapAlgorithm = wrap.algorithm
        self.wrap = wrap.bytes
    }
}

extension File {
    /// Sets the class of the file explicitly.
    ///
    /// An empty file that gets a stricter class gets a new key too, so that no weaker wrap of its key was ever on
    /// disk. `locked` when the key of the old or of the new class is away, also if the file key itself is at hand:
    /// what a class promises about changes of class holds for open files as well.
    public func setClass(_ protectionClass: ProtectionClass) throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            let old = state.header.protectionClass
            guard vault.ring.has(old) else { throw .locked }
            if state.length == 0 && protectionClass.isStricter(than: old) {
                let fresh = FileKey(try authentic("") { () throws(CryptoError) in try Secret(random: 32) })
                let wrap = try self.wrap(fresh, for: protectionClass)
                // Blocks that a crash left beyond the length belong to the old key.
                let file = try writable()
                try backing { () throws(Errno) in
                    try vault.store.truncate(file, to: Int64(FileHeader.byteCount))
                }
                state.hasResidue = false
                try changeHeader { $0.take(protectionClass, true, wrap) }
                key.withLock { if $0 != nil { $0 = fresh } }
            } else {
                let wrap = try rewrapped(for: protectionClass)
                try changeHeader { $0.take(protectionClass, true, wrap) }
            }
        }
    }

    /// Clears the mark of an explicit class. The class itself stays: removing an attribute weakens nothing.
    public func clearExplicitMark() throws(VaultError) {
        try lock.withExclusive { () throws(VaultError) in
            guard state.header.flags.contains(.explicitClass) else { return }
            try changeHeader { $0.flags.remove(.explicitClass) }
        }
    }

    /// The wrap of this file's key for a class: the one it has, if that is its class. Needs `lock`.
    func rewrapped(for protectionClass: ProtectionClass) throws(VaultError) -> FileKeyWrap {
        let header = state.header
        if header.protectionClass == protectionClass {
            return FileKeyWrap(algorithm: header.wrapAlgorithm, bytes: header.wrap)
        }
        return try wrap(try currentKey(), for: protectionClass)
    }

    private func wrap(_ key: FileKey, for protectionClass: ProtectionClass) throws(VaultError) -> FileKeyWrap {
        do {
            return try vault.ring.wrap(key.secret, file: identifier, class: protectionClass)
        } catch { throw VaultError(error) }
    }
}
