import Posix
import Store

// An ordinary user's daemon has only the rights of the files' owner, and their modes restrict it too. Elsewhere a file
// of mode 0444, or a folder of mode 0555, can be renamed; here both need a write in them.

extension Vault {
    package typealias Subject = BackingSubject

    /// Runs `body`. If it ends with EACCES, adds `permissions` to the mode for as long as it runs `body` again. This
    /// moves the time of change, so `body` should ask for no more than it needs.
    ///
    /// `body` must not take another lock, nor `modes`. A daemon that is killed meanwhile leaves the added permissions.
    package func withOwnerPermissions<Result: ~Copyable>(
        _ permissions: UInt32, of subject: Subject, _ body: () throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        do {
            return try body()
        } catch {
            guard error == .system(.EACCES), !options.isPrivileged, !isReadOnly else { throw error }
            return try order.modes.withExclusive { () throws(VaultError) in
                // A rename cannot replace an open inode, so the mode is restored on the same one.
                guard let file = try? pin(subject), let own = try? store.status(of: file).permissions else {
                    throw error
                }
                // Another thread may have added them during the first run, or the user since.
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

    /// The status of a backing file, without permissions that are added for a moment.
    func backingStatus(of subject: Subject) throws(VaultError) -> FileStatus {
        try order.modes.withShared { () throws(VaultError) in
            try backing { () throws(Errno) in
                switch subject {
                case .file(let file): try store.status(of: file)
                case .entry(let name, let folder): try store.status(of: name, in: folder)
                }
            }
        }
    }

    /// Sets a mode or an owner, which clears set-ID bits, while no permissions are added.
    func changeBacking(_ change: BackingChange) throws(VaultError) {
        try order.modes.withExclusive { () throws(VaultError) in
            try backing { () throws(Errno) in try change.apply(to: store) }
        }
    }

    /// Runs `body`, which writes to a file on the vault's own behalf, and keeps set-ID bits: the kernel clears them
    /// when an ordinary user writes. `body` must not take another lock, nor `modes`.
    func keepingSetID<Result, Failure: Error>(
        of file: Descriptor, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard !options.isPrivileged else { return try body() }
        let result = try order.modes.withShared { () throws(Failure) -> Result? in
            try setIDMode(of: file) == nil ? body() : nil
        }
        if let result { return result }
        return try order.modes.withExclusive { () throws(Failure) in
            let mode = setIDMode(of: file)
            defer { if let mode { try? store.setMode(mode, of: file) } }
            return try body()
        }
    }

    /// The permissions of a file, nil unless it has a set-ID bit. Needs `modes`.
    private func setIDMode(of file: Descriptor) -> UInt32? {
        guard let mode = try? store.status(of: file).permissions, mode & 0o6000 != 0 else { return nil }
        return mode
    }
}
