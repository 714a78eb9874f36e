import Format
import Glibc
import Posix
import Store

// Access control lists. They are stored as other attributes are, but mode and list change together. The kernel reads
// them and checks permissions.

/// What a new entry gets: what its maker asked for, and what it inherits from the parent directory.
struct Inheritance {
    var ownership: Ownership
    /// The access list, if it says more than the mode.
    var access: AccessControlList?
    /// A directory's default list, for new entries in it.
    var defaults: AccessControlList?

    /// The mode at creation. A file that gets a list is accessible to its maker alone until then, who must be able to
    /// set it.
    var firstMode: UInt32 { access == nil ? ownership.mode & 0o777 : 0o600 }
}

extension Vault {
    private static let accessName = Array(AccessControlList.accessAttribute.utf8)
    private static let defaultName = Array(AccessControlList.defaultAttribute.utf8)

    /// S_ISGID.
    private static let setGroupID: UInt32 = 0o2000

    private func defaultList(of parent: Directory) throws(VaultError) -> AccessControlList? {
        // Under its lease, no other machine sets one.
        if isShared, parent.lacksDefaultList.load(ordering: .acquiring) { return nil }
        let found = try list(Self.defaultName, of: AttributeOwner.directory(parent).subject)
        if isShared, found == nil { parent.lacksDefaultList.store(true, ordering: .releasing) }
        return found
    }

    /// What a new entry in `parent` gets. From a set-group-ID directory it inherits the group, and a new directory also
    /// the bit. A default list of `parent` replaces the umask.
    func inheritance(
        _ ownership: Ownership, in parent: Directory, of kind: FileKind
    ) throws(VaultError) -> Inheritance {
        try parent.refuseStale()
        let status = try backing { () throws(Errno) in try store.status(of: parent.descriptor) }
        var inherited = Inheritance(ownership: ownership)
        if status.permissions & Self.setGroupID != 0 {
            inherited.ownership.group = status.group
            if kind == .directory { inherited.ownership.mode |= Self.setGroupID }
        }
        guard kind != .symbolicLink else { return inherited }
        guard let defaults = try defaultList(of: parent) else {
            inherited.ownership.mode &= ~ownership.umask
            return inherited
        }
        let access = defaults.inherited(mode: ownership.mode)
        let canHaveList = kind == .regular || kind == .directory || hasNodeAttributes
        inherited.ownership.mode =
            ownership.mode & ~0o777 | (canHaveList ? access.mode : access.modeWithoutList)
            | (inherited.ownership.mode & Self.setGroupID)
        if canHaveList && !access.isMode { inherited.access = access }
        if kind == .directory { inherited.defaults = defaults }
        return inherited
    }

    /// Gives a new file or directory its owner, lists and mode. The mode is last: a change of owner clears set-ID bits,
    /// and a mode that is the mask of a list permits more without the list. Skips what is so already: each call is a
    /// transaction of the store.
    ///
    /// - Parameter status: the status after creation, nil if it is not known.
    func give(_ file: AttributeSubject, _ inheritance: Inheritance, made status: FileStatus?) throws(VaultError) {
        let ownership = inheritance.ownership
        let isOwned = status.map { $0.owner == ownership.user && $0.group == ownership.group } ?? false
        if options.isPrivileged && !isOwned {
            try backing { () throws(Errno) in
                try store.setOwner(user: ownership.user, group: ownership.group, of: file.descriptor)
            }
        }
        if let list = inheritance.access { try setAttribute(Self.accessName, to: list.encoded, flags: 0, of: file) }
        if let list = inheritance.defaults { try setAttribute(Self.defaultName, to: list.encoded, flags: 0, of: file) }
        if inheritance.access == nil, status?.permissions == ownership.mode { return }
        try backing { () throws(Errno) in try store.setMode(ownership.mode, of: file.descriptor) }
    }

    /// Gives a new FIFO, socket or device node its owner, list and mode, in the order that files need.
    func give(node name: Name, in folder: Descriptor, _ inheritance: Inheritance) throws(Errno) {
        let ownership = inheritance.ownership
        var mode = ownership.mode
        if options.isPrivileged {
            try store.setOwner(user: ownership.user, group: ownership.group, of: name, in: folder)
        }
        if let list = inheritance.access {
            let node = AttributeSubject(node: try store.open(name, in: folder, O_PATH, mode: 0))
            do throws(VaultError) { try setAttribute(Self.accessName, to: list.encoded, flags: 0, of: node) } catch {
                // The store has user attributes but no trusted ones.
                guard error.errno == .EOPNOTSUPP || error.errno == .EPERM else { throw error.errno }
                mode = mode & ~0o777 | list.modeWithoutList
            }
        }
        try store.setMode(mode, of: name, in: folder)
    }

    /// Sets the mode of an entry that is neither a file nor a directory, and changes its list with it.
    func setMode(_ mode: UInt32, ofNode name: Name, in folder: Descriptor) throws(VaultError) {
        guard hasNodeAttributes else {
            return try changeBacking(.setMode(mode, of: .entry(name, in: folder)))
        }
        let node = try backing { () throws(Errno) in try store.open(name, in: folder, O_PATH, mode: 0) }
        try setMode(mode, of: AttributeSubject(node: node))
    }

    /// The list in an attribute, nil if there is none.
    private func list(_ name: [UInt8], of owner: AttributeSubject) throws(VaultError) -> AccessControlList? {
        let bytes: [UInt8]
        do throws(VaultError) { bytes = try attribute(name, of: owner) } catch {
            guard error == .system(.ENODATA) || error == .system(.EOPNOTSUPP) else { throw error }
            return nil
        }
        guard let list = AccessControlList(decoding: bytes) else {
            throw .damaged("an access control list is malformed")
        }
        return list
    }

    /// Sets the access list of a file or directory, and the mode with it; `EINVAL` if `bytes` are not a list.
    ///
    /// - Parameter dropsSetGroupID: the caller is not in the file's group.
    public func setAccessList(
        _ bytes: [UInt8], of owner: AttributeOwner, dropsSetGroupID: Bool
    ) throws(VaultError) {
        guard let list = AccessControlList(decoding: bytes) else { throw .system(.EINVAL) }
        let old = try backingStatus(of: .file(owner.descriptor)).permissions
        var mode = old & ~0o777 | list.mode
        if dropsSetGroupID { mode &= ~Self.setGroupID }
        defer { if case .file(let file) = owner { file.touch() } }
        // Between the two steps the list's mask may be narrower or wider than the mode, but a list is never without its
        // mask.
        let file = Subject.file(owner.descriptor)
        guard list.isMode else {
            return try set(list, of: owner.subject) { () throws(VaultError) in
                if mode != old { try changeBacking(.setMode(mode, of: file)) }
            }
        }
        if mode != old { try changeBacking(.setMode(mode, of: file)) }
        do throws(VaultError) { try removeAccessList(of: owner) } catch {
            if mode != old { try? changeBacking(.setMode(old, of: file)) }
            throw error
        }
    }

    /// Sets the access list of a file, then runs `setMode`, which sets the mode that goes with it. If that fails,
    /// restores the old list as far as the store allows.
    private func set(
        _ list: AccessControlList, of file: AttributeSubject, setMode: () throws(VaultError) -> Void
    ) throws(VaultError) {
        var before: AccessControlList?
        do throws(VaultError) { before = try self.list(Self.accessName, of: file) } catch {
            // A damaged list cannot be restored.
            guard case .damaged = error else { throw error }
        }
        try setAttribute(Self.accessName, to: list.encoded, flags: 0, of: file)
        do throws(VaultError) { try setMode() } catch {
            if let before {
                try? setAttribute(Self.accessName, to: before.encoded, flags: 0, of: file)
            } else {
                try? removeAttribute(Self.accessName, of: file)
            }
            throw error
        }
    }

    /// Removes the access list: from then on the mode says everything.
    public func removeAccessList(of owner: AttributeOwner) throws(VaultError) {
        try removeList(Self.accessName, of: owner)
    }

    /// Sets the default list of a directory; `EACCES` for a file, which has none.
    public func setDefaultList(_ bytes: [UInt8], of owner: AttributeOwner) throws(VaultError) {
        guard AccessControlList(decoding: bytes) != nil else { throw .system(.EINVAL) }
        guard case .directory(let directory) = owner else { throw .system(.EACCES) }
        directory.lacksDefaultList.store(false, ordering: .releasing)
        try setAttribute(Self.defaultName, to: bytes, flags: 0, of: owner)
    }

    public func removeDefaultList(of owner: AttributeOwner) throws(VaultError) {
        try removeList(Self.defaultName, of: owner)
    }

    private func removeList(_ name: [UInt8], of owner: AttributeOwner) throws(VaultError) {
        do throws(VaultError) { try removeAttribute(name, of: owner) } catch {
            guard error == .system(.ENODATA) || error == .system(.EOPNOTSUPP) else { throw error }
        }
    }

    /// Sets the mode, and changes the access list with it.
    func setMode(_ mode: UInt32, of owner: AttributeSubject) throws(VaultError) {
        let change = { () throws(VaultError) in
            try self.changeBacking(.setMode(mode, of: .file(owner.descriptor)))
        }
        guard var list = try list(Self.accessName, of: owner) else { return try change() }
        list.change(toMode: mode)
        try set(list, of: owner, setMode: change)
    }
}
