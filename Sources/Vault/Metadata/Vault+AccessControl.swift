import Format
import Glibc
import Posix
import Store

// Access control lists: attributes like others, but that the mode follows the list and the list the mode. The kernel
// asks for them and judges by them.

/// What something new is to have: what its maker asked for, and what the directory in which it is made has for it.
struct Inheritance {
    var ownership: Ownership
    /// More than the mode says.
    var access: AccessControlList?
    /// Of a directory: for what is made in it.
    var defaults: AccessControlList?

    /// What a file is made with. One that gets a list is its maker's alone until it has it, who must be able to set it.
    var firstMode: UInt32 { access == nil ? ownership.mode & 0o777 : 0o600 }
}

extension Vault {
    private static let accessName = Array(AccessControlList.accessAttribute.utf8)
    private static let defaultName = Array(AccessControlList.defaultAttribute.utf8)

    /// S_ISGID.
    private static let setGroupID: UInt32 = 0o2000

    /// What something takes that is made in `parent`: in a set-group-ID directory its group, and a new directory the
    /// bit; of a directory with a default list that, and elsewhere a mode without what the umask denies.
    func inheritance(
        _ ownership: Ownership, in parent: Directory, of kind: FileKind
    ) throws(VaultError) -> Inheritance {
        let status = try backing { () throws(Errno) in try store.status(of: parent.descriptor) }
        var inherited = Inheritance(ownership: ownership)
        if status.permissions & Self.setGroupID != 0 {
            inherited.ownership.group = status.group
            if kind == .directory { inherited.ownership.mode |= Self.setGroupID }
        }
        guard kind != .symbolicLink else { return inherited }
        guard let defaults = try list(Self.defaultName, of: AttributeOwner.directory(parent).subject) else {
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

    /// Gives a new file or directory to its owner; the mode last, since a change of owner clears set-ID bits, and a
    /// mode that is a list's mask means more without it. What is so already is not set again: each is a transaction of
    /// the store.
    ///
    /// - Parameter status: as it was made; nil if nobody knows.
    func give(_ file: AttributeSubject, _ inheritance: Inheritance, made status: FileStatus?) throws(VaultError) {
        let ownership = inheritance.ownership
        let isOwned = status.map { $0.owner == ownership.user && $0.group == ownership.group } ?? false
        if isPrivileged && !isOwned {
            try backing { () throws(Errno) in
                try store.setOwner(user: ownership.user, group: ownership.group, of: file.descriptor)
            }
        }
        if let list = inheritance.access { try setAttribute(Self.accessName, to: list.encoded, flags: 0, of: file) }
        if let list = inheritance.defaults { try setAttribute(Self.defaultName, to: list.encoded, flags: 0, of: file) }
        if inheritance.access == nil, status?.permissions == ownership.mode { return }
        try backing { () throws(Errno) in try store.setMode(ownership.mode, of: file.descriptor) }
    }

    /// Gives a new FIFO, socket or device node to its owner, then the list that it inherits, and its mode: in the order
    /// that holds for files.
    func give(node name: Name, in folder: Descriptor, _ inheritance: Inheritance) throws(Errno) {
        let ownership = inheritance.ownership
        var mode = ownership.mode
        if isPrivileged {
            try store.setOwner(user: ownership.user, group: ownership.group, of: name, in: folder)
        }
        if let list = inheritance.access {
            let node = AttributeSubject(node: try store.open(name, in: folder, O_PATH, mode: 0))
            do throws(VaultError) { try setAttribute(Self.accessName, to: list.encoded, flags: 0, of: node) } catch {
                // A store that has attributes of users and none of root's.
                guard error.errno == .EOPNOTSUPP || error.errno == .EPERM else { throw error.errno }
                mode = mode & ~0o777 | list.modeWithoutList
            }
        }
        try store.setMode(mode, of: name, in: folder)
    }

    /// Sets the mode of what is neither file nor directory, and with it the list if there is one.
    func setMode(_ mode: UInt32, ofNode name: Name, in folder: Descriptor) throws(VaultError) {
        guard hasNodeAttributes else {
            return try changeBacking(.setMode(mode, of: .entry(name, in: folder)))
        }
        let node = try backing { () throws(Errno) in try store.open(name, in: folder, O_PATH, mode: 0) }
        try setMode(mode, of: AttributeSubject(node: node))
    }

    /// The list in an attribute; nil if there is none.
    private func list(_ name: [UInt8], of owner: AttributeSubject) throws(VaultError) -> AccessControlList? {
        let bytes: [UInt8]
        do throws(VaultError) { bytes = try attribute(name, of: owner) } catch {
            guard error == .system(.ENODATA) || error == .system(.EOPNOTSUPP) else { throw error }
            return nil
        }
        guard let list = AccessControlList(decoding: bytes) else { throw .damaged("an access control list is none") }
        return list
    }

    /// Sets the list that says who may use a file or directory, and with it the mode; `EINVAL` for what is no list.
    ///
    /// - Parameter dropsSetGroupID: the one who sets it is not of the file's group.
    public func setAccessList(
        _ bytes: [UInt8], of owner: AttributeOwner, dropsSetGroupID: Bool
    ) throws(VaultError) {
        guard let list = AccessControlList(decoding: bytes) else { throw .system(.EINVAL) }
        let old = try backingStatus(of: .file(owner.descriptor)).permissions
        var mode = old & ~0o777 | list.mode
        if dropsSetGroupID { mode &= ~Self.setGroupID }
        defer { if case .file(let file) = owner { file.touch() } }
        // A list whose mask is narrower than the mode, or wider, for as long as this takes: never one without its mask.
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

    /// Sets the list that says who may use a file, and runs `setMode`, which sets the mode that goes with it: without
    /// that the list is what it was, as far as the store allows.
    private func set(
        _ list: AccessControlList, of file: AttributeSubject, setMode: () throws(VaultError) -> Void
    ) throws(VaultError) {
        var before: AccessControlList?
        do throws(VaultError) { before = try self.list(Self.accessName, of: file) } catch {
            // What cannot be put back need not be.
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

    /// From now on the mode says it all.
    public func removeAccessList(of owner: AttributeOwner) throws(VaultError) {
        try removeList(Self.accessName, of: owner)
    }

    /// Sets the list for what is made in a directory; `EACCES` for a file, which has none.
    public func setDefaultList(_ bytes: [UInt8], of owner: AttributeOwner) throws(VaultError) {
        guard AccessControlList(decoding: bytes) != nil else { throw .system(.EINVAL) }
        guard case .directory = owner else { throw .system(.EACCES) }
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

    /// Sets the mode, and with it the list if there is one.
    func setMode(_ mode: UInt32, of owner: AttributeSubject) throws(VaultError) {
        let change = { () throws(VaultError) in
            try self.changeBacking(.setMode(mode, of: .file(owner.descriptor)))
        }
        guard var list = try list(Self.accessName, of: owner) else { return try change() }
        list.change(toMode: mode)
        try set(list, of: owner, setMode: change)
    }
}
