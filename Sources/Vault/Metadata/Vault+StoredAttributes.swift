import Format
import Posix
import Store

// Attributes in the backing store. A value of which all that is stored does not fit into one has its continuation in a
// second one, whose name is the value's nonce: so that a new value's continuation can be there before the value is, and
// an old one's until it is not. A continuation without a value is harmless, not shown, and found by fsck.

extension Vault {
    /// Its owner need not be allowed to read a file whose attributes he may read: those of access control.
    func storedValue(of stored: AttributeName, of owner: AttributeSubject) throws(VaultError) -> [UInt8] {
        try withOwnerPermissions(0o400, of: .file(owner.descriptor)) { () throws(VaultError) in
            try backing { () throws(Errno) in
                try store.attribute(stored.backing(owner.prefix), of: owner.descriptor)
            }
        }
    }

    /// All that is stored of an attribute, its continuation too.
    func wholeValue(of stored: AttributeName, of owner: AttributeSubject) throws(VaultError) -> [UInt8] {
        var value = try storedValue(of: stored, of: owner)
        while let continuation = stored.continuation(of: value) {
            do throws(VaultError) { return value + (try storedValue(of: continuation, of: owner)) } catch {
                guard error == .system(.ENODATA) else { throw error }
            }
            // Nobody keeps getxattr(2) from coming while the value is replaced: then it is another one by now.
            let later = try storedValue(of: stored, of: owner)
            guard later != value else { break }
            value = later
        }
        return value
    }

    /// Where the continuation of what is stored now would be; nil if all of it is in one attribute.
    package func continuation(of stored: AttributeName, of owner: AttributeSubject) -> AttributeName? {
        (try? storedValue(of: stored, of: owner)).flatMap(stored.continuation)
    }

    /// Sets it as a whole: after a crash too it is the old or the new one, on a store that keeps no order as well.
    func putSealed(_ attribute: SealedAttribute, flags: Int32, of owner: AttributeSubject) throws(VaultError) {
        let old = continuation(of: attribute.name, of: owner)
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
        if let old { drop(old, of: owner) }
    }

    /// Removes the continuation of a value that could not be set, unless it has been after all: a store that failed
    /// need not have done nothing.
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

    /// Removes the continuation of a value that is there no longer. What fails leaves it for fsck.
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

    /// Makes what has been done to attributes durable.
    private func flush(_ owner: AttributeSubject) throws(VaultError) {
        if let file = owner.file {
            try file.flush(dataOnly: false)
        } else if owner.prefix == .trusted {
            // Nobody can open a device only to flush its inode.
            try flushAll()
        } else {
            try flush(folder: owner.descriptor)
        }
    }
}

extension AttributeName {
    /// Where the continuation of a value is, if there is one: of one that fills an attribute to the last byte there
    /// need not be.
    func continuation(of value: [UInt8]) -> AttributeName? {
        guard value.count == Self.largestValue, let start = noteCount(in: value), value.count >= start + 16 else {
            return nil
        }
        return .continuation(nonce: Array(value[start..<start + 16]))
    }
}
