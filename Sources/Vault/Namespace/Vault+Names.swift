import Crypto
import Format
import Posix
import Store

/// An entry's name in the backing folder.
package struct StoredName {
    package let name: Name
    /// A long name's sidecar: its name and contents.
    let sidecar: (name: Name, ciphertext: [UInt8])?
}

extension Name {
    /// A name from ASCII characters that are valid in a name.
    package init(ascii text: String) {
        self.init(bytes: text.utf8)!
    }

    /// A fresh `lk.tmp.R`.
    package static func temporary(suffix: String = "") -> Name {
        let random = String(decoding: Base64URL.encode(Random.bytes(16)), as: UTF8.self)
        return Name(ascii: BackingName.temporaryPrefix + random + suffix)
    }

    /// A fresh `lk.lost.R`, for a directory that a crash has left without a record. It is foreign from then on.
    static func lost() -> Name {
        Name(ascii: BackingName.lostPrefix + String(decoding: Base64URL.encode(Random.bytes(16)), as: UTF8.self))
    }

    /// A fresh `lk.target.R`.
    static func longTarget() -> Name {
        Name(ascii: BackingName.longTargetPrefix + String(decoding: Base64URL.encode(Random.bytes(16)), as: UTF8.self))
    }

    package static let targets = Name(ascii: BackingName.targets)
    package static let nameless = Name(ascii: BackingName.nameless)
    package static let directoryRecord = Name(ascii: BackingName.directoryRecord)
    package static let newDirectoryRecord = Name(ascii: BackingName.newDirectoryRecord)
}

extension Vault {
    /// The backing name of the entry `name`; docs/FORMAT.md, "Names".
    package func storedName(_ name: Name, in directory: Directory) throws(VaultError) -> StoredName {
        let stored = try ownStoredName(name, in: directory)
        guard isReadOnly, let tombstone = tombstone(for: stored.name, in: directory.descriptor) else { return stored }
        return StoredName(name: tombstone, sidecar: nil)
    }

    private func ownStoredName(_ name: Name, in directory: Directory) throws(VaultError) -> StoredName {
        let ciphertext = try directory.identifier.withBytes { identifier throws(VaultError) in
            do throws(CryptoError) {
                return try unsafe keys.names.seal(name.bytes.span.bytes, associatedData: identifier)
            } catch { throw VaultError(error, damaged: "") }
        }
        if Base64URL.encodedCount(ciphertext.count) <= traits.nameMax {
            return StoredName(name: Name(bytes: Base64URL.encode(ciphertext))!, sidecar: nil)
        }
        let long = BackingName.longPrefix + hashText(of: ciphertext)
        return StoredName(
            name: Name(ascii: long), sidecar: (Name(ascii: long + BackingName.sidecarSuffix), ciphertext))
    }

    private func hashText(of ciphertext: [UInt8]) -> String {
        String(decoding: Base64URL.encode(unsafe sha256(ciphertext.span.bytes)), as: UTF8.self)
    }

    /// The backing name of a long name with this ciphertext.
    func longEntry(of ciphertext: [UInt8]) -> Name { Name(ascii: BackingName.longPrefix + hashText(of: ciphertext)) }

    /// Where an entry of that name belongs. docs/FORMAT.md, "Name bindings".
    package func binding(of name: Name, in directory: Directory) -> NameBinding {
        directory.identifier.withBytes { identifier in
            NameBinding(unsafe keys.bindings.tag(of: identifier, name.bytes.span.bytes))
        }
    }

    /// The plaintext of a backing name, nil if it is not an entry of this directory.
    package func plainName(of backingName: Name, in directory: Directory) -> Name? {
        guard let ciphertext = try? ciphertext(of: backingName, in: directory) else { return nil }
        return plainName(ofCiphertext: ciphertext, in: directory)
    }

    package func plainName(ofCiphertext ciphertext: [UInt8], in directory: Directory) -> Name? {
        directory.identifier.withBytes { identifier in
            guard let bytes = try? unsafe keys.names.open(ciphertext.span.bytes, associatedData: identifier),
                let name = Name(bytes: bytes)
            else { return nil }
            return name
        }
    }

    /// The ciphertext of an entry's name, nil if `backingName` is not an entry's.
    package func ciphertext(of backingName: Name, in directory: Directory) throws(VaultError) -> [UInt8]? {
        switch BackingName(backingName.bytes) {
        case .entry(let ciphertext): ciphertext
        case .longEntry: try readSidecar(of: backingName, in: directory)
        case .reserved, .temporary, .sidecar, .foreign: nil
        }
    }

    /// Reads the ciphertext of a long name; its hash must be the one in the entry's name.
    private func readSidecar(of entry: Name, in directory: Directory) throws(VaultError) -> [UInt8] {
        let text = entry.description
        // A name of 255 bytes and its tag of 16; one byte more reveals a sidecar that is too long.
        let bytes = try readAll(
            Name(ascii: text + BackingName.sidecarSuffix), in: directory.descriptor, upTo: Vault.nameMax + 17)
        guard text == BackingName.longPrefix + hashText(of: bytes) else {
            throw .damaged("the sidecar of a long name belongs to another name")
        }
        return bytes
    }
}
