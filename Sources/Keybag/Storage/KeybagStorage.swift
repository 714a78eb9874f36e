import Crypto
import Failure
import Format
import Glibc
import Posix
import Store

/// The files `lk.keybag*` in a vault, and the replacement of one by another.
///
/// At every moment at least one of `lk.keybag` and `lk.keybag.old` is complete. docs/FORMAT.md, "Replacing it".
struct KeybagStorage: Sendable {
    static let current = Name(stringLiteral: BackingName.keybag)
    static let pending = Name(stringLiteral: BackingName.newKeybag)
    static let previous = Name(stringLiteral: BackingName.oldKeybag)
    private static let erased = Name(stringLiteral: BackingName.erased)

    let store: any Store

    // MARK: - Reading

    /// The keybag that `check` accepts: the current one, or else the previous one, which is then put back. Files of a
    /// finished or interrupted replacement are removed.
    func load(
        readOnly: Bool, check: (SealedKeybag) throws(Failure) -> Void
    ) throws(Failure) -> SealedKeybag {
        do throws(Failure) {
            let keybag = try read(Self.current)
            try check(keybag)
            if !readOnly {
                removeOrphans()
                // A keybag was put back by hand: the vault is not erased any more.
                try? removeIfPresent(Self.erased)
            }
            return keybag
        } catch {
            guard error.isOfTheFileItself, let keybag = try? read(Self.previous), (try? check(keybag)) != nil,
                !isRotated(since: keybag, error)
            else { throw error }
            if !readOnly { try putBack() }
            return keybag
        }
    }

    /// Whether a rotation gave the current keybag other keys, and the error only says that a credential or device key
    /// from before it does not open. Then the previous keybag must not return: some files need the new keys.
    private func isRotated(since previous: SealedKeybag, _ error: Failure) -> Bool {
        switch error {
        case .wrongPasscode, .wrongRecoveryKey, .wrongKey, .deviceKeyMismatch, .recoveredElsewhere:
            guard let current = try? read(Self.current) else { return false }
            return current.file.publicKey != previous.file.publicKey
        default: return false
        }
    }

    func read(_ name: Name) throws(Failure) -> SealedKeybag {
        let doing: Printable = "reading \(name)"
        let file: Descriptor
        do throws(Errno) {
            // O_NONBLOCK: an attacker may have put a FIFO there.
            file = try store.open(name, in: store.root, O_RDONLY | O_NONBLOCK)
        } catch {
            switch error {
            case .ENOENT: throw .notAVault
            case .ELOOP: throw .damaged(reason: "\(name) is a symbolic link")
            default: throw .io(error, doing: doing)
            }
        }
        guard try io(doing, try store.status(of: file)).kind == .regular else {
            throw .damaged(reason: "\(name) is not a regular file")
        }
        var bytes = [UInt8](repeating: 0, count: KeybagFile.largest + 1)
        let count: Int
        do throws(Errno) {
            var elements = bytes.mutableSpan
            var buffer = unsafe elements.mutableBytes
            count = try store.read(file, into: &buffer, at: 0)
        } catch { throw .io(error, doing: doing) }
        bytes.removeSubrange(count...)
        return try SealedKeybag(decoding: bytes)
    }

    var exists: Bool {
        get throws(Failure) {
            for name in [Self.current, Self.previous] {
                do throws(Errno) {
                    _ = try store.status(of: name, in: store.root)
                    return true
                } catch {
                    guard error == .ENOENT else { throw .io(error, doing: "looking for \(name)") }
                }
            }
            return false
        }
    }

    /// Whether the vault was made a synchronised one after a keybag was written: then its root has its record in a
    /// file.
    func hasBecomeSynchronised(since file: KeybagFile) throws(Failure) -> Bool {
        guard !file.isSynchronised, file.settings.directoryRecords == .symbolicLink else { return false }
        do throws(Errno) {
            let record = Name(stringLiteral: BackingName.directoryRecord)
            return try store.status(of: record, in: store.root).kind == .regular
        } catch {
            // The keybag of the other kind would refuse what is in the vault.
            guard error == .ENOENT else { throw .io(error, doing: "looking for the record of the root") }
            return false
        }
    }

    // MARK: - Writing

    /// The first keybag of a vault.
    func create(_ keybag: SealedKeybag) throws(Failure) {
        let doing: Printable = "writing \(Self.current)"
        try write(keybag.bytes, as: Self.pending)
        do throws(Errno) {
            try store.rename(Self.pending, in: store.root, to: Self.current, in: store.root, flags: RENAME_NOREPLACE)
        } catch {
            switch error {
            case .EEXIST: throw .alreadyAVault
            // The file system does not support the flag. The caller has checked `exists`.
            case .EINVAL, .ENOSYS:
                try io(doing, try store.rename(Self.pending, in: store.root, to: Self.current, in: store.root))
            default: throw .io(error, doing: doing)
            }
        }
        try io(doing, try store.synchronize(store.root, dataOnly: false))
        try prove(keybag)
    }

    /// Replaces the current keybag. If it throws, the current one has stayed or is put back; if the disk fails even
    /// that, the next open finds one of the two complete.
    func replace(_ current: SealedKeybag, by keybag: SealedKeybag) throws(Failure) {
        let doing: Printable = "replacing \(Self.current)"
        try write(keybag.bytes, as: Self.pending, isReplacement: true)
        try keepPrevious(current)
        do throws(Failure) {
            try io(doing, try store.rename(Self.pending, in: store.root, to: Self.current, in: store.root))
            try io(doing, try store.synchronize(store.root, dataOnly: false))
            try prove(keybag)
        } catch {
            // The caller will report that nothing has changed, so make that true. If nothing has changed, both names
            // are one file, and rename(2) does nothing.
            try putBack()
            throw error
        }
        removeOrphans()
    }

    /// Replaces whatever keybag is there: `present`, if it could be read.
    func put(_ keybag: SealedKeybag, over present: SealedKeybag?) throws(Failure) {
        if let present, (try? read(Self.current).bytes) == present.bytes { return try replace(present, by: keybag) }
        let doing: Printable = "replacing \(Self.current)"
        try write(keybag.bytes, as: Self.pending, isReplacement: true)
        try io(doing, try store.rename(Self.pending, in: store.root, to: Self.current, in: store.root))
        try io(doing, try store.synchronize(store.root, dataOnly: false))
        try prove(keybag)
        removeOrphans()
        try? removeIfPresent(Self.erased)
    }

    /// - Parameter isReplacement: the file will replace the current keybag.
    private func write(_ bytes: [UInt8], as name: Name, isReplacement: Bool = false) throws(Failure) {
        let doing: Printable = "writing \(name)"
        try io(doing, try removeIfPresent(name))
        let file = try io(doing, try store.open(name, in: store.root, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600))
        do throws(Errno) {
            try unsafe store.write(bytes.span.bytes, to: file, at: 0)
            if isReplacement { try? store.setTimeApart(of: file, from: Self.current, in: store.root) }
            try store.synchronize(file, dataOnly: false)
        } catch {
            try? removeIfPresent(name)
            throw .io(error, doing: doing)
        }
    }

    /// Makes `lk.keybag.old`: a hard link to the current keybag, or a copy if the store has no hard links.
    private func keepPrevious(_ current: SealedKeybag) throws(Failure) {
        let doing: Printable = "keeping \(Self.current)"
        // Otherwise this could remove the last good keybag.
        guard try read(Self.current).bytes == current.bytes else {
            throw .tampered(reason: "it was changed on disk while it was open")
        }
        try io(doing, try removeIfPresent(Self.previous))
        do throws(Errno) {
            try store.link(Self.current, in: store.root, to: Self.previous, in: store.root)
        } catch {
            guard [.EPERM, .EOPNOTSUPP, .ENOSYS, .EMLINK].contains(error) else { throw .io(error, doing: doing) }
            try write(current.bytes, as: Self.previous)
        }
    }

    /// Reads the current keybag back and compares it with what was written.
    private func prove(_ keybag: SealedKeybag) throws(Failure) {
        guard try read(Self.current).bytes == keybag.bytes else {
            throw .damaged(reason: "\(Self.current) does not read back as it was written")
        }
    }

    private func putBack() throws(Failure) {
        let doing: Printable = "putting \(Self.previous) back"
        try io(doing, try store.rename(Self.previous, in: store.root, to: Self.current, in: store.root))
        try io(doing, try store.synchronize(store.root, dataOnly: false))
    }

    // MARK: - Cleaning up

    /// Removes the previous keybag, which an old passcode still opens, and the file of an interrupted replacement.
    ///
    /// If one cannot be removed, or a power loss brings it back, it does no harm and the next open tries again.
    private func removeOrphans() {
        for name in [Self.previous, Self.pending] { try? removeIfPresent(name) }
    }

    /// The same, durably: no power loss brings one back.
    func forgetPrevious() {
        removeOrphans()
        try? store.synchronize(store.root, dataOnly: false)
    }

    /// Says in place of a keybag that it was destroyed, and when.
    func stateErasure() throws(Failure) {
        try write(ErasureStatement(erased: UInt64(max(time(nil), 0))).encoded, as: Self.erased)
    }

    private func removeIfPresent(_ name: Name) throws(Errno) {
        do throws(Errno) {
            try store.unlink(name, in: store.root)
        } catch {
            guard error == .ENOENT else { throw error }
        }
    }
}

extension Failure {
    /// Whether the previous keybag may replace the one with this error. Not if that one cannot be read at the moment,
    /// or has a later version.
    fileprivate var isOfTheFileItself: Bool {
        switch self {
        case .notAVault, .damaged, .tampered, .deviceKeyMismatch, .recoveredElsewhere: true
        default: wrongKind != nil
        }
    }
}
