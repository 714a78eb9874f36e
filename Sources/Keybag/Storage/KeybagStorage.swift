import Crypto
import Failure
import Format
import Glibc
import Posix
import Store

/// The files `lk.keybag*` in a vault, and how one takes the place of another.
///
/// At every moment at least one of `lk.keybag` and `lk.keybag.old` is whole. Docs/FORMAT.md, "Replacing it".
struct KeybagStorage: Sendable {
    static let current = Name(stringLiteral: BackingName.keybag)
    static let pending = Name(stringLiteral: BackingName.newKeybag)
    static let previous = Name(stringLiteral: BackingName.oldKeybag)

    let store: any Store

    // MARK: - Reading

    /// The keybag that `check` accepts: the current one, or the previous one, which is then put back. What a finished
    /// or broken-off replacement has left is removed.
    func load(
        readOnly: Bool, check: (SealedKeybag) throws(Failure) -> Void
    ) throws(Failure) -> SealedKeybag {
        do throws(Failure) {
            let keybag = try read(Self.current)
            try check(keybag)
            if !readOnly { removeOrphans() }
            return keybag
        } catch {
            guard error.isOfTheFileItself, let keybag = try? read(Self.previous), (try? check(keybag)) != nil,
                !isRotated(since: keybag, error)
            else { throw error }
            if !readOnly { try putBack() }
            return keybag
        }
    }

    /// Whether the current keybag has other keys than the previous one, and nothing is wrong with it but that a key of
    /// then does not open it: there are files that only the new keys open.
    private func isRotated(since previous: SealedKeybag, _ error: Failure) -> Bool {
        switch error {
        case .wrongPasscode, .wrongRecoveryKey, .wrongKey, .deviceKeyMismatch:
            guard let current = try? read(Self.current) else { return false }
            return current.file.publicKey != previous.file.publicKey
        default: return false
        }
    }

    func read(_ name: Name) throws(Failure) -> SealedKeybag {
        let doing = "reading \(name)"
        let file: Descriptor
        do throws(Errno) {
            // Not blocking: someone may have put a FIFO there.
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

    // MARK: - Writing

    /// The first keybag of a vault.
    func create(_ keybag: SealedKeybag) throws(Failure) {
        let doing = "writing \(Self.current)"
        try write(keybag.bytes, as: Self.pending)
        do throws(Errno) {
            try store.rename(Self.pending, in: store.root, to: Self.current, in: store.root, flags: RENAME_NOREPLACE)
        } catch {
            switch error {
            case .EEXIST: throw .alreadyAVault
            // A file system that does not know the flag. `exists` was asked before.
            case .EINVAL, .ENOSYS:
                try io(doing, try store.rename(Self.pending, in: store.root, to: Self.current, in: store.root))
            default: throw .io(error, doing: doing)
            }
        }
        try io(doing, try store.synchronize(store.root, dataOnly: false))
        try prove(keybag)
    }

    /// Puts a keybag in the place of the current one. If it throws, the current one has stayed or is back; on a disk
    /// that fails even that, the next opening finds one of the two whole.
    func replace(_ current: SealedKeybag, by keybag: SealedKeybag) throws(Failure) {
        let doing = "replacing \(Self.current)"
        try write(keybag.bytes, as: Self.pending, isReplacement: true)
        try keepPrevious(current)
        do throws(Failure) {
            try io(doing, try store.rename(Self.pending, in: store.root, to: Self.current, in: store.root))
            try io(doing, try store.synchronize(store.root, dataOnly: false))
            try prove(keybag)
        } catch {
            // The caller will say that nothing has changed: make it so. Where nothing has, both names are one file,
            // and rename(2) leaves them alone.
            try putBack()
            throw error
        }
        removeOrphans()
    }

    /// Puts a keybag in the place of whatever is there: `present`, if that could be read.
    func put(_ keybag: SealedKeybag, over present: SealedKeybag?) throws(Failure) {
        if let present, (try? read(Self.current).bytes) == present.bytes { return try replace(present, by: keybag) }
        let doing = "replacing \(Self.current)"
        try write(keybag.bytes, as: Self.pending, isReplacement: true)
        try io(doing, try store.rename(Self.pending, in: store.root, to: Self.current, in: store.root))
        try io(doing, try store.synchronize(store.root, dataOnly: false))
        try prove(keybag)
        removeOrphans()
    }

    /// - Parameter isReplacement: it will take the current one's place.
    private func write(_ bytes: [UInt8], as name: Name, isReplacement: Bool = false) throws(Failure) {
        let doing = "writing \(name)"
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

    /// `lk.keybag.old`: another name of the current one, or a copy where there are no hard links.
    private func keepPrevious(_ current: SealedKeybag) throws(Failure) {
        let doing = "keeping \(Self.current)"
        // Else the keybag removed here could be the last good one.
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

    /// Reads the current keybag back: what is on disk is what was meant.
    private func prove(_ keybag: SealedKeybag) throws(Failure) {
        guard try read(Self.current).bytes == keybag.bytes else {
            throw .damaged(reason: "\(Self.current) does not read back as it was written")
        }
    }

    private func putBack() throws(Failure) {
        let doing = "putting \(Self.previous) back"
        try io(doing, try store.rename(Self.previous, in: store.root, to: Self.current, in: store.root))
        try io(doing, try store.synchronize(store.root, dataOnly: false))
    }

    // MARK: - Cleaning up

    /// Removes the previous keybag, which an old passcode still opens, and one that never came to be.
    ///
    /// One that cannot be removed is in nobody's way and is tried again at the next opening; so is one that a power
    /// loss brings back.
    private func removeOrphans() {
        for name in [Self.previous, Self.pending] { try? removeIfPresent(name) }
    }

    /// The same so that no power loss brings one back.
    func forgetPrevious() {
        removeOrphans()
        try? store.synchronize(store.root, dataOnly: false)
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
    /// Whether the previous keybag may do in the place of the one that this is about. Not if it cannot be read at the
    /// moment, or is of a later version.
    fileprivate var isOfTheFileItself: Bool {
        switch self {
        case .notAVault, .damaged, .tampered, .deviceKeyMismatch: true
        default: wrongKind != nil
        }
    }
}
