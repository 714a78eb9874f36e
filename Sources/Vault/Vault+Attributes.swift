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

    var identifier: [UInt8] {
        switch self {
        case .file(let file): file.identifier.bytes
        case .directory(let directory): directory.identifier.bytes
        }
    }
}

extension Vault {
    private static let nameComponent = Array("name".utf8)

    public func attribute(_ name: [UInt8], of owner: AttributeOwner) throws(VaultError) -> [UInt8] {
        let stored = try storedAttributeName(name, of: owner)
        return try openValue(of: stored, name, of: owner.descriptor, owner.identifier)
    }

    private func openValue(
        of stored: String, _ name: [UInt8], of file: Descriptor, _ owner: [UInt8]
    ) throws(VaultError) -> [UInt8] {
        let bytes = try backing { () throws(Errno) in try store.attribute(stored, of: file) }
        guard bytes.count >= 33 else { throw .damaged("an extended attribute is cut off") }
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
        guard let name = attributeName(stored, of: owner) else {
            throw .damaged("an extended attribute's name was changed, or belongs to another file")
        }
        return (name, try openValue(of: stored, name, of: file, owner))
    }

    private func attributeName(_ stored: String, of owner: [UInt8]) -> [UInt8]? {
        guard let ciphertext = AttributeName.ciphertext(backing: stored) else { return nil }
        return try? unsafe keys.xattrs.open(
            ciphertext.span.bytes, associatedData: owner.span.bytes, Self.nameComponent.span.bytes)
    }

    /// `flags`: XATTR_CREATE, XATTR_REPLACE or 0.
    public func setAttribute(
        _ name: [UInt8], to value: [UInt8], flags: Int32, of owner: AttributeOwner
    ) throws(VaultError) {
        let stored = try storedAttributeName(name, of: owner)
        let nonce = Random.bytes(16)
        let sealed = try authentic("") { () throws(CryptoError) in
            try unsafe keys.xattrs.seal(
                ([0] + value).span.bytes, associatedData: owner.identifier.span.bytes, name.span.bytes,
                nonce.span.bytes)
        }
        try backing { () throws(Errno) in
            try store.setAttribute(stored, to: nonce + sealed, flags: flags, of: owner.descriptor)
        }
    }

    public func removeAttribute(_ name: [UInt8], of owner: AttributeOwner) throws(VaultError) {
        let stored = try storedAttributeName(name, of: owner)
        try backing { () throws(Errno) in try store.removeAttribute(stored, of: owner.descriptor) }
    }

    /// The names, without foreign ones and those that do not decrypt.
    public func attributeNames(of owner: AttributeOwner) throws(VaultError) -> [[UInt8]] {
        let names: [String]
        do {
            names = try store.attributeNames(of: owner.descriptor)
        } catch {
            // A store without attributes has none.
            if error == .EOPNOTSUPP { return [] }
            throw .system(error)
        }
        return names.compactMap { attributeName($0, of: owner.identifier) }
    }

    private func storedAttributeName(_ name: [UInt8], of owner: AttributeOwner) throws(VaultError) -> String {
        let ciphertext = try authentic("") { () throws(CryptoError) in
            try unsafe keys.xattrs.seal(
                name.span.bytes, associatedData: owner.identifier.span.bytes, Self.nameComponent.span.bytes)
        }
        let stored = AttributeName.backing(ciphertext: ciphertext)
        guard stored.utf8.count <= AttributeName.largest else { throw .system(.ERANGE) }
        return stored
    }
}
