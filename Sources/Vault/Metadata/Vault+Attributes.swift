import Crypto
import Format
import Glibc
import Posix
import Store

// Extended attributes: docs/FORMAT.md, "Extended attributes".

extension Vault {
    public func attribute(_ name: [UInt8], of owner: AttributeOwner) throws(VaultError) -> [UInt8] {
        try attribute(name, of: owner.subject)
    }

    func attribute(_ name: [UInt8], of owner: AttributeSubject) throws(VaultError) -> [UInt8] {
        guard owner.hasSidecar else { return try attributeInStore(name, of: owner) }
        let changes = attributeFolder.changes.load(ordering: .acquiring)
        if let value = try sidecar(of: owner)?[name] { return value }
        do throws(VaultError) { return try attributeInStore(name, of: owner) } catch {
            guard error.isMissingAttribute else { throw error }
            // getxattr(2) may run while another thread moves the attribute to the sidecar.
            if attributeFolder.changes.load(ordering: .acquiring) != changes,
                let value = try sidecar(of: owner)?[name]
            {
                return value
            }
            throw .system(.ENODATA)
        }
    }

    private func attributeInStore(_ name: [UInt8], of owner: AttributeSubject) throws(VaultError) -> [UInt8] {
        let stored = try storedName(ofAttribute: name, of: owner)
        let bytes = try wholeValue(of: stored.name, of: owner)
        guard bytes.starts(with: stored.note) else { throw .damaged("an extended attribute belongs to another name") }
        let value = try openValue(bytes.dropFirst(stored.note.count), of: name, owner.identifier)
        if let nonce = stored.name.nonce(in: bytes) {
            try compare(value: nonce, .attribute(name), place(of: owner)) {
                (try? storedValue(of: stored.name, of: owner)).flatMap(stored.name.nonce) == nonce
            }
        }
        return value
    }

    /// Opens an attribute by its stored name, which must not be a continuation's; returns its plaintext name and value.
    package func openAttribute(
        _ stored: AttributeName, of owner: AttributeSubject
    ) throws(VaultError) -> (name: [UInt8], value: [UInt8]) {
        let bytes = try wholeValue(of: stored, of: owner)
        guard let found = plainName(ofAttribute: stored, bytes, of: owner) else {
            throw .damaged("an extended attribute's name was changed, or belongs to another file")
        }
        return (found.name, try openValue(bytes.dropFirst(found.noteCount), of: found.name, owner.identifier))
    }

    /// Whether the expected file is under a name and has no such attribute. Opens nothing; false if this cannot be
    /// known.
    public func lacksAttribute(
        _ attribute: [UInt8], of name: Name, in parent: Directory,
        expecting expected: (file: FileIdentifier, inode: UInt64)
    ) -> Bool {
        do throws(VaultError) {
            let stored = try storedName(ofAttribute: attribute, of: expected.file.bytes, .user).name.backing()
            let entry = try storedName(name, in: parent).name
            return try backing { () throws(Errno) in
                var value = [UInt8](repeating: 0, count: 1)
                var elements = value.mutableSpan
                var span = unsafe elements.mutableBytes
                do throws(Errno) {
                    _ = try store.attribute(stored, of: entry, in: parent.descriptor, into: &span)
                    return false
                } catch {
                    guard error == .ENODATA || error == .EOPNOTSUPP, lacksSidecar(expected.file.bytes) else {
                        return false
                    }
                    // The inode is checked after the attribute: if it is the expected one now, it was so before, unless
                    // the name was moved away and back meanwhile.
                    return try store.status(of: entry, in: parent.descriptor).inode == expected.inode
                }
            }
        } catch { return false }
    }

    /// `flags`: XATTR_CREATE, XATTR_REPLACE or 0.
    public func setAttribute(
        _ name: [UInt8], to value: [UInt8], flags: Int32, of owner: AttributeOwner
    ) throws(VaultError) {
        // Noted before the call: a store that reports a failure may have set the attribute.
        if case .file(let file) = owner { file.noteCapabilities(name) }
        try setAttribute(name, to: value, flags: flags, of: owner.subject)
        if case .file(let file) = owner { file.touch() }
    }

    func setAttribute(
        _ name: [UInt8], to value: [UInt8], flags: Int32, of owner: AttributeSubject
    ) throws(VaultError) {
        if try sidecar(of: owner)?[name] != nil { return try setInSidecar(name, to: value, flags: flags, of: owner) }
        let stored = try storedName(ofAttribute: name, of: owner)
        do throws(VaultError) {
            try putSealed(try sealed(value, of: name, stored, owner), flags: flags, of: owner)
        } catch {
            guard error.isRefusedAttribute, owner.hasSidecar else { throw error }
            try setInSidecar(name, to: value, flags: flags, of: owner)
        }
    }

    public func removeAttribute(_ name: [UInt8], of owner: AttributeOwner) throws(VaultError) {
        try removeAttribute(name, of: owner.subject)
        if case .file(let file) = owner { file.touch() }
    }

    func removeAttribute(_ name: [UInt8], of owner: AttributeSubject) throws(VaultError) {
        if try sidecar(of: owner)?[name] != nil { return try removeFromSidecar(name, of: owner) }
        let stored = try storedName(ofAttribute: name, of: owner).name
        do throws(VaultError) { try removeFromStore(stored, of: owner) } catch {
            guard error.isMissingAttribute, owner.hasSidecar else { throw error }
            throw .system(.ENODATA)
        }
    }

    func removeFromStore(_ stored: AttributeName, of owner: AttributeSubject) throws(VaultError) {
        let removed = try? storedValue(of: stored, of: owner)
        let continuation = removed.flatMap(stored.continuation)
        try removeStored(stored, of: owner)
        noteGone(value: authenticNonce(of: stored, removed, owner), of: owner)
        if let continuation { drop(continuation, of: owner) }
    }

    /// The names of the attributes, without foreign ones and those that do not decrypt.
    public func attributeNames(of owner: AttributeOwner) throws(VaultError) -> [[UInt8]] {
        let inStore = try attributeNamesInStore(of: owner.subject)
        guard let sidecar = try sidecar(of: owner.subject) else { return inStore }
        return inStore.filter { sidecar[$0] == nil } + sidecar.attributes.map(\.name)
    }

    private func attributeNamesInStore(of owner: AttributeSubject) throws(VaultError) -> [[UInt8]] {
        let names: [String]
        do {
            names = try store.attributeNames(of: owner.descriptor)
        } catch {
            // A store without attributes has none.
            if error == .EOPNOTSUPP { return [] }
            throw .system(error)
        }
        return names.compactMap { stored in
            guard let stored = AttributeName(backing: stored, owner.prefix) else { return nil }
            return plainName(ofAttribute: stored, try? storedValue(of: stored, of: owner), of: owner)?.name
        }
    }
}

// MARK: Names and values, sealed

/// An attribute as it is stored.
struct SealedAttribute {
    let name: AttributeName
    /// All that is stored: the encrypted name if it is a long one, the nonce and the value.
    let bytes: [UInt8]
    let nonce: [UInt8]
}

extension Vault {
    private static let nameComponent = Array("name".utf8)

    func sealed(
        _ value: [UInt8], of name: [UInt8], _ stored: (name: AttributeName, note: [UInt8]), _ owner: AttributeSubject
    ) throws(VaultError) -> SealedAttribute {
        let nonce = Random.bytes(16)
        let sealed = try authentic("") { () throws(CryptoError) in
            try unsafe keys.xattrs.seal(
                ([0] + value).span.bytes, associatedData: owner.identifier.span.bytes, name.span.bytes,
                nonce.span.bytes)
        }
        return SealedAttribute(name: stored.name, bytes: stored.note + nonce + sealed, nonce: nonce)
    }

    func openValue(
        _ bytes: ArraySlice<UInt8>, of name: [UInt8], _ owner: [UInt8]
    ) throws(VaultError) -> [UInt8] {
        guard bytes.count >= 33 else { throw .damaged("an extended attribute is truncated") }
        let bytes = Array(bytes)
        let value = try authentic("an extended attribute was changed") { () throws(CryptoError) in
            try unsafe keys.xattrs.open(
                bytes.span.bytes.extracting(16..<bytes.count), associatedData: owner.span.bytes,
                name.span.bytes, bytes.span.bytes.extracting(0..<16))
        }
        return Array(value.dropFirst())
    }

    /// The name in the backing store, and what stands before the value: for a long name its encrypted form.
    func storedName(
        ofAttribute name: [UInt8], of owner: AttributeSubject
    ) throws(VaultError) -> (name: AttributeName, note: [UInt8]) {
        try storedName(ofAttribute: name, of: owner.identifier, owner.prefix)
    }

    private func storedName(
        ofAttribute name: [UInt8], of owner: [UInt8], _ prefix: AttributeName.Prefix
    ) throws(VaultError) -> (name: AttributeName, note: [UInt8]) {
        let ciphertext = try authentic("") { () throws(CryptoError) in
            try unsafe keys.xattrs.seal(
                name.span.bytes, associatedData: owner.span.bytes, Self.nameComponent.span.bytes)
        }
        guard AttributeName.isLong(ciphertextCount: ciphertext.count, prefix) else {
            return (.short(ciphertext: ciphertext), [])
        }
        let count = [UInt8(truncatingIfNeeded: ciphertext.count), UInt8(truncatingIfNeeded: ciphertext.count >> 8)]
        return (.long(hash: Self.hash(of: ciphertext)), count + ciphertext)
    }

    /// The plaintext name of an attribute, and how many stored bytes hold the encrypted name.
    func plainName(
        ofAttribute stored: AttributeName, _ bytes: @autoclosure () -> [UInt8]?, of owner: AttributeSubject
    ) -> (name: [UInt8], noteCount: Int)? {
        switch stored {
        case .short(let ciphertext): return plainName(ofAttribute: ciphertext, of: owner.identifier).map { ($0, 0) }
        case .long(let hash):
            guard let bytes = bytes(), let count = stored.noteCount(in: bytes) else { return nil }
            let ciphertext = Array(bytes[2..<count])
            guard Self.hash(of: ciphertext) == hash else { return nil }
            return plainName(ofAttribute: ciphertext, of: owner.identifier).map { ($0, count) }
        case .continuation: return nil
        }
    }

    private func plainName(ofAttribute ciphertext: [UInt8], of owner: [UInt8]) -> [UInt8]? {
        try? unsafe keys.xattrs.open(
            ciphertext.span.bytes, associatedData: owner.span.bytes, Self.nameComponent.span.bytes)
    }

    private static func hash(of ciphertext: [UInt8]) -> [UInt8] {
        Base64URL.encode(unsafe sha256(ciphertext.span.bytes))
    }
}

extension AttributeName {
    /// How many stored bytes stand before the nonce; nil if `bytes` are fewer.
    func noteCount(in bytes: [UInt8]) -> Int? {
        guard case .long = self else { return 0 }
        guard bytes.count >= 2 else { return nil }
        let count = 2 + Int(bytes[0]) + Int(bytes[1]) << 8
        return bytes.count >= count ? count : nil
    }
}
