import Posix
import Store

// The daemon of an ordinary user is no more than the owner of the files, whose own permissions are in its way: a file
// of mode 0444 is renamed and a folder of mode 0555 is too, and here both mean a write in them.

extension Vault {
    package typealias Subject = BackingSubject

    /// Runs `body`, and once more if it ends with EACCES: then with permissions that the owner lends for that time.
    /// This moves the time of change, so `body` should ask for no more than it needs.
    ///
    /// In `body` no other lock is taken, and nothing that takes `modes`. A daemon that dies in the middle leaves the
    /// owner with the permissions that were lent.
    package func withOwnerPermissions<Result: ~Copyable>(
        _ permissions: UInt32, of subject: Subject, _ body: () throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        do {
            return try body()
        } catch {
            guard error == .system(.EACCES), !isPrivileged, !isReadOnly else { throw error }
            return try modes.withExclusive { () throws(VaultError) in
                // Once it is open, no rename can make us give the permissions back to something else.
                guard let file = try? pin(subject), let own = try? store.status(of: file).permissions else {
                    throw error
                }
                // They may have been lent to somebody else the first time, or have been granted since.
                guard own & permissions != permissions else { return try body() }
                do { try store.setMode(own | permissions, of: file) } catch _ { throw error }
                defer { try? store.setMode(own, of: file) }
                return try body()
            }
        }
    }

    private func pin(_ subject: Subject) throws(Errno) -> Descriptor {
        switch subject {
        case .file(let file): file
        case .entry(let name, let folder): try store.open(name, in: folder, O_PATH, mode: 0)
        }
    }

    /// What stat(2) says of a backing file, while nothing is lent.
    func backingStatus(of subject: Subject) throws(VaultError) -> FileStatus {
        try modes.withShared { () throws(VaultError) in
            try backing { () throws(Errno) in
                switch subject {
                case .file(let file): try store.status(of: file)
                case .entry(let name, let folder): try store.status(of: name, in: folder)
                }
            }
        }
    }

    /// Sets a mode or an owner, which clears set-ID bits, while nothing is lent.
    func changeBacking(_ change: BackingChange) throws(VaultError) {
        try modes.withExclusive { () throws(VaultError) in
            try backing { () throws(Errno) in try change.apply(to: store) }
        }
    }

    /// Runs `body`, which writes to a file in nobody's name: the kernel takes the set-ID bits of a file to which an
    /// ordinary user writes. In `body` no other lock is taken, and nothing that takes `modes`.
    func keepingSetID<Result, Failure: Error>(
        of file: Descriptor, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard !isPrivileged else { return try body() }
        let result = try modes.withShared { () throws(Failure) -> Result? in
            try setIDMode(of: file) == nil ? body() : nil
        }
        if let result { return result }
        return try modes.withExclusive { () throws(Failure) in
            let mode = setIDMode(of: file)
            defer { if let mode { try? store.setMode(mode, of: file) } }
            return try body()
        }
    }

    /// The permissions of a file with a set-ID bit. Needs `modes`.
    private func setIDMode(of file: Descriptor) -> UInt32? {
        guard let mode = try? store.status(of: file).permissions, mode & 0o6000 != 0 else { return nil }
        return mode
    }
}
