import Format
import Posix
import Store

// Attributes in the backing store. A value that does not fit into one attribute has a continuation in a second one. Its
// name is the value's nonce: so a new continuation is there before its value, and the old one stays as long as the old
// value. A continuation without a value is an orphan: harmless, not shown, and found by fsck.

extension Vault {
    /// Reads also if the mode does not let the file's owner read: access control lists need no read permission.
    func storedValue(of stored: AttributeName, of owner: AttributeSubject) throws(VaultError) -> [UInt8] {
        try withOwnerPermissions(0o400, of: .file(owner.descriptor)) { () throws(VaultError) in
            try backing { () throws(Errno) in
                try store.attribute(stored.backing(owner.prefix), of: owner.descriptor)
            }
        }
    }

    /// All that is stored of an attribute, with its continuation.
    func wholeValue(of stored: AttributeName, of owner: AttributeSubject) throws(VaultError) -> [UInt8] {
        var value = try storedValue(of: stored, of: owner)
        while let continuation = stored.continuation(of: value) {
            do throws(VaultError) { return value + (try storedValue(of: continuation, of: owner)) } catch {
                guard error == .system(.ENODATA) else { throw error }
            }
            // getxattr(2) may run while another thread replaces the value. Then the value differs by now.
            let later = try storedValue(of: stored, of: owner)
            guard later != value else { break }
            value = later
        }
        return value
    }

    /// The name of the continuation that the stored value would have; nil if it fits into one attribute.
    package func continuation(of stored: AttributeName, of owner: AttributeSubject) -> AttributeName? {
        (try? storedValue(of: stored, of: owner)).flatMap(stored.continuation)
    }

    /// Sets an attribute atomically: after a crash it has the old or the new value, even if the store reorders
    /// metadata.
    func putSealed(_ attribute: SealedAttribute, flags: Int32, of owner: AttributeSubject) throws(VaultError) {
        let replaced = try? storedValue(of: attribute.name, of: owner)
        let old = replaced.flatMap(attribute.name.continuation)
        let fits = attribute.bytes.prefix(AttributeName.largestValue)
        let continuation = attribute.bytes.dropFirst(fits.count)
        let continuationName = AttributeName.continuation(nonce: attribute.nonce)
        if !continuation.isEmpty {
            try setStored(continuationName, to: Array(continuation), flags: 0, of: owner)
            try flush(owner)
        }
        do throws(VaultError) { try setStored(attribute.name, to: Array(fits), flags: flags, of: owner) } catch {
            if !continuation.isEmpty { try? removeUnused(continuationName, of: attribute.name, of: owner) }
            throw error
        }
        noteGone(value: authenticNonce(of: attribute.name, replaced, owner), of: owner)
        if let old { drop(old, of: owner) }
    }

    /// Removes the continuation of a value that could not be set. Keeps it if the value is set after all: a store may
    /// report a failure after it has changed the value.
    private func removeUnused(
        _ continuation: AttributeName, of stored: AttributeName, of owner: AttributeSubject
    ) throws(VaultError) {
        do throws(VaultError) {
            guard stored.continuation(of: try storedValue(of: stored, of: owner)) != continuation else { return }
        } catch {
            guard error == .system(.ENODATA) else { throw error }
        }
        try removeStored(continuation, of: owner)
    }

    /// Removes the continuation of a value that was replaced or removed. After a failure it stays for fsck.
    func drop(_ continuation: AttributeName, of owner: AttributeSubject) {
        do throws(VaultError) {
            try flush(owner)
            try removeStored(continuation, of: owner)
        } catch { return }
    }

    func removeStored(_ stored: AttributeName, of owner: AttributeSubject) throws(VaultError) {
        try withOwnerPermissions(0o200, of: .file(owner.descriptor)) { () throws(VaultError) in
            try backing { () throws(Errno) in
                try store.removeAttribute(stored.backing(owner.prefix), of: owner.descriptor)
            }
        }
    }

    private func setStored(
        _ stored: AttributeName, to value: [UInt8], flags: Int32, of owner: AttributeSubject
    ) throws(VaultError) {
        try withOwnerPermissions(0o200, of: .file(owner.descriptor)) { () throws(VaultError) in
            try backing { () throws(Errno) in
                try store.setAttribute(stored.backing(owner.prefix), to: value, flags: flags, of: owner.descriptor)
            }
        }
    }

    /// Makes the changes of attributes durable.
    func flush(_ owner: AttributeSubject) throws(VaultError) {
        if let file = owner.file {
            try file.flush(dataOnly: false)
        } else if owner.prefix == .trusted {
            // A device node cannot be opened only to flush its inode.
            try flushAll()
        } else {
            try flush(folder: owner.descriptor)
        }
    }
}

extension AttributeName {
    /// The name of a value's continuation. A value that fills the attribute exactly has this name too, but perhaps no
    /// continuation.
    func continuation(of value: [UInt8]) -> AttributeName? {
        guard value.count == Self.largestValue, let start = noteCount(in: value), value.count >= start + 16 else {
            return nil
        }
        return .continuation(nonce: Array(value[start..<start + 16]))
    }
}
