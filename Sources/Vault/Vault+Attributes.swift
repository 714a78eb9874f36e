import Crypto
import Format
import Glibc
import Posix
import Store

// Extended attributes: docs/FORMAT.md, "Extended attributes".

/// What an extended attribute hangs on.
public enum AttributeOwner: Sendable {
    case file(File)
    case directory(Directory)

    var descriptor: Descriptor {
        switch self {
        case .file(let file): file.descriptor
        case .directory(let directory): directory.descriptor
        }
    }

    fileprivate var subject: AttributeSubject {
        switch self {
        case .file(let file): AttributeSubject(descriptor: file.descriptor, identifier: file.identifier.bytes)
        case .directory(let directory):
            AttributeSubject(descriptor: directory.descriptor, identifier: directory.identifier.bytes)
        }
    }
}

/// A backing file or folder, and the ID to which its attributes are bound.
struct AttributeSubject: Sendable {
    let descriptor: Descriptor
    let identifier: [UInt8]
}

extension Vault {
    private static let nameComponent = Array("name".utf8)

    public func attribute(_ name: [UInt8], of owner: AttributeOwner) throws(VaultError) -> [UInt8] {
        try attribute(name, of: owner.subject)
    }

    func attribute(_ name: [UInt8], of owner: AttributeSubject) throws(VaultError) -> [UInt8] {
        let stored = try storedName(ofAttribute: name, of: owner.identifier)
        let bytes = try storedValue(of: stored.name.backing, of: owner.descriptor)
        guard bytes.starts(with: stored.note) else { throw .damaged("an extended attribute is another one's") }
        return try openValue(bytes.dropFirst(stored.note.count), of: name, owner.identifier)
    }

    /// Its owner need not be allowed to read a file whose attributes he may read: those of access control.
    private func storedValue(of stored: String, of file: Descriptor) throws(VaultError) -> [UInt8] {
        try withOwnerPermissions(0o400, of: .file(file)) { () throws(VaultError) in
            try backing { () throws(Errno) in try store.attribute(stored, of: file) }
        }
    }

    private func openValue(
        _ bytes: ArraySlice<UInt8>, of name: [UInt8], _ owner: [UInt8]
    ) throws(VaultError) -> [UInt8] {
        guard bytes.count >= 33 else { throw .damaged("an extended attribute is cut off") }
        let bytes = Array(bytes)
        let value = try authentic("an extended attribute was changed") { () throws(CryptoError) in
            try unsafe keys.xattrs.open(
                bytes.span.bytes.extracting(16..<bytes.count), associatedData: owner.span.bytes,
                name.span.bytes, bytes.span.bytes.extracting(0..<16))
        }
        return Array(value.dropFirst())
    }

    /// An attribute by its stored name, which begins with `user.lk.`: name and value in plaintext.
    ///
    /// - Parameter owner: the file ID or directory ID.
    func openAttribute(
        _ stored: String, of file: Descriptor, _ owner: [UInt8]
    ) throws(VaultError) -> (name: [UInt8], value: [UInt8]) {
        let bytes = try storedValue(of: stored, of: file)
        guard let found = plainName(ofAttribute: stored, bytes, of: owner) else {
            throw .damaged("an extended attribute's name was changed, or belongs to another file")
        }
        return (found.name, try openValue(bytes.dropFirst(found.noteCount), of: found.name, owner))
    }

    /// The name of an attribute, and how many bytes of what is stored tell it.
    private func plainName(
        ofAttribute stored: String, _ bytes: @autoclosure () -> [UInt8]?, of owner: [UInt8]
    ) -> (name: [UInt8], noteCount: Int)? {
        switch AttributeName(backing: stored) {
        case .short(let ciphertext): return plainName(ofAttribute: ciphertext, of: owner).map { ($0, 0) }
        case .long(let hash):
            guard let bytes = bytes(), bytes.count >= 2 else { return nil }
            let count = 2 + Int(bytes[0]) + Int(bytes[1]) << 8
            guard bytes.count >= count else { return nil }
            let ciphertext = Array(bytes[2..<count])
            guard Self.hash(of: ciphertext) == hash else { return nil }
            return plainName(ofAttribute: ciphertext, of: owner).map { ($0, count) }
        case nil: return nil
        }
    }

    private func plainName(ofAttribute ciphertext: [UInt8], of owner: [UInt8]) -> [UInt8]? {
        try? unsafe keys.xattrs.open(
            ciphertext.span.bytes, associatedData: owner.span.bytes, Self.nameComponent.span.bytes)
    }

    private static func hash(of ciphertext: [UInt8]) -> [UInt8] {
        Base64URL.encode(unsafe sha256(ciphertext.span.bytes))
    }

    /// `flags`: XATTR_CREATE, XATTR_REPLACE or 0.
    public func setAttribute(
        _ name: [UInt8], to value: [UInt8], flags: Int32, of owner: AttributeOwner
    ) throws(VaultError) {
        try setAttribute(name, to: value, flags: flags, of: owner.subject)
        if case .file(let file) = owner { file.noteAttribute(name) }
    }

    func setAttribute(
        _ name: [UInt8], to value: [UInt8], flags: Int32, of owner: AttributeSubject
    ) throws(VaultError) {
        let stored = try storedName(ofAttribute: name, of: owner.identifier)
        let nonce = Random.bytes(16)
        let sealed = try authentic("") { () throws(CryptoError) in
            try unsafe keys.xattrs.seal(
                ([0] + value).span.bytes, associatedData: owner.identifier.span.bytes, name.span.bytes,
                nonce.span.bytes)
        }
        try withOwnerPermissions(0o200, of: .file(owner.descriptor)) { () throws(VaultError) in
            try backing { () throws(Errno) in
                try store.setAttribute(
                    stored.name.backing, to: stored.note + nonce + sealed, flags: flags, of: owner.descriptor)
            }
        }
    }

    public func removeAttribute(_ name: [UInt8], of owner: AttributeOwner) throws(VaultError) {
        try removeAttribute(name, of: owner.subject)
        if case .file(let file) = owner { file.touch() }
    }

    func removeAttribute(_ name: [UInt8], of owner: AttributeSubject) throws(VaultError) {
        let stored = try storedName(ofAttribute: name, of: owner.identifier)
        try withOwnerPermissions(0o200, of: .file(owner.descriptor)) { () throws(VaultError) in
            try backing { () throws(Errno) in try store.removeAttribute(stored.name.backing, of: owner.descriptor) }
        }
    }

    /// The names, without foreign ones and those that do not decrypt.
    public func attributeNames(of owner: AttributeOwner) throws(VaultError) -> [[UInt8]] {
        let owner = owner.subject
        let names: [String]
        do {
            names = try store.attributeNames(of: owner.descriptor)
        } catch {
            // A store without attributes has none.
            if error == .EOPNOTSUPP { return [] }
            throw .system(error)
        }
        return names.compactMap { stored in
            plainName(ofAttribute: stored, try? storedValue(of: stored, of: owner.descriptor), of: owner.identifier)?
                .name
        }
    }

    /// The name in the backing store, and what stands before the value: of a long name the encrypted name itself.
    private func storedName(
        ofAttribute name: [UInt8], of owner: [UInt8]
    ) throws(VaultError) -> (name: AttributeName, note: [UInt8]) {
        let ciphertext = try authentic("") { () throws(CryptoError) in
            try unsafe keys.xattrs.seal(
                name.span.bytes, associatedData: owner.span.bytes, Self.nameComponent.span.bytes)
        }
        guard AttributeName.isLong(ciphertextCount: ciphertext.count) else {
            return (.short(ciphertext: ciphertext), [])
        }
        let count = [UInt8(truncatingIfNeeded: ciphertext.count), UInt8(truncatingIfNeeded: ciphertext.count >> 8)]
        return (.long(hash: Self.hash(of: ciphertext)), count + ciphertext)
    }
}
