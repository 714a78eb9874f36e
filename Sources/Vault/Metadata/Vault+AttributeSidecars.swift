import Crypto
import Format
import Glibc
import Posix
import Store

// Attributes that the backing store does not take: docs/FORMAT.md, "Sidecars of attributes". All of one owner lie in
// one file. An attribute there counts more than one of the same name in the store.

extension AttributeSubject {
    /// Nodes have no ID by which a sidecar could be named.
    var hasSidecar: Bool { prefix == .user && identifier.count == 16 }
}

extension Name {
    package static let attributes = Name(ascii: BackingName.attributes)

    /// The name of a sidecar; the owner's ID has 16 bytes.
    package static func attributes(of owner: [UInt8]) -> Name {
        Name(ascii: BackingName.attributesPrefix + String(hexadecimal: owner))
    }
}

extension VaultError {
    /// The store has no attributes, or none as large as this one: then it goes to the sidecar. A full disk is one of
    /// the reasons; it does not take the sidecar either.
    var isRefusedAttribute: Bool {
        [.EOPNOTSUPP, .ENOSYS, .ENOSPC, .E2BIG, .ERANGE].contains { self == .system($0) }
    }

    /// What lies there cannot be read by this program, at any time.
    fileprivate var isUnreadable: Bool {
        switch self {
        case .damaged, .unsupported: true
        case .system, .locked, .unseen, .stale: false
        }
    }

    /// What a store answers that does not have the attribute, or has none.
    var isMissingAttribute: Bool { self == .system(.ENODATA) || self == .system(.EOPNOTSUPP) }
}

// MARK: Reading

extension Vault {
    private static let component = Array("sidecar".utf8)

    /// The folder of sidecars, if there is one.
    package func openAttributes() throws(VaultError) -> Descriptor? {
        attributeFolder.find(in: store)
        return try attributeFolder.descriptor
    }

    /// The attributes of an owner that are in its sidecar; nil if it has none.
    package func sidecar(of owner: AttributeSubject) throws(VaultError) -> AttributeSidecar? {
        guard owner.hasSidecar else { return nil }
        return try sidecar(of: owner.identifier, place: place(of: owner))
    }

    /// - Parameter owner: the ID of a file or directory.
    package func sidecar(
        of owner: [UInt8], place: @autoclosure () -> StaleObject.Place? = nil
    ) throws(VaultError) -> AttributeSidecar? {
        guard let folder = try attributeFolder.descriptor else { return nil }
        let bytes: [UInt8]
        do throws(VaultError) { bytes = try readSidecar(.attributes(of: owner), in: folder) } catch {
            guard error == .system(.ENOENT) else { throw error }
            return nil
        }
        let sidecar = try openSidecar(bytes, of: owner)
        let nonce = Array(bytes.prefix(16))
        try compare(value: nonce, .attribute(nil), place()) { sidecarNonce(of: owner) == nonce }
        return sidecar
    }

    private func openSidecar(_ bytes: [UInt8], of owner: [UInt8]) throws(VaultError) -> AttributeSidecar {
        guard bytes.count > AttributeSidecar.sealByteCount else {
            throw .damaged("the file of attributes is truncated")
        }
        let plain = try authentic("the file of attributes was changed, or belongs to another file") {
            () throws(CryptoError) in
            try unsafe keys.xattrs.open(
                bytes.span.bytes.extracting(16..<bytes.count), associatedData: owner.span.bytes,
                Self.component.span.bytes, bytes.span.bytes.extracting(0..<16))
        }
        do throws(FormatError) { return try unsafe AttributeSidecar(decoding: plain.span.bytes) } catch {
            if case .unknownVersion = error { throw .unsupported("the file of attributes is \(error)") }
            throw .damaged("the file of attributes is \(error)")
        }
    }

    private func readSidecar(_ name: Name, in folder: Descriptor) throws(VaultError) -> [UInt8] {
        try readAll(name, in: folder, upTo: AttributeSidecar.largest + AttributeSidecar.sealByteCount)
    }

    /// The bytes of a sidecar as they are; nil if it cannot be one that Latchkey has made.
    package func sidecarBytes(_ name: Name, in folder: Descriptor) throws(VaultError) -> [UInt8]? {
        do throws(VaultError) { return try readSidecar(name, in: folder) } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }

    /// Whether it is certain that an owner has no sidecar.
    func lacksSidecar(_ owner: [UInt8]) -> Bool {
        do throws(VaultError) {
            guard let folder = try attributeFolder.descriptor else { return true }
            do throws(Errno) { _ = try store.status(of: .attributes(of: owner), in: folder) } catch {
                return error == .ENOENT
            }
        } catch {}
        return false
    }
}

// MARK: Writing

extension Vault {
    /// Sets an attribute in the owner's sidecar, durably, and then removes the one of that name in the store.
    ///
    /// - Parameter flags: XATTR_CREATE, XATTR_REPLACE or 0.
    func setInSidecar(
        _ name: [UInt8], to value: [UInt8], flags: Int32, of owner: AttributeSubject
    ) throws(VaultError) {
        guard !isReadOnly else { throw .system(.EROFS) }
        guard 1...AttributeName.largest ~= name.count else { throw .system(.ERANGE) }
        guard value.count <= AttributeName.largestValue else { throw .system(.E2BIG) }
        try attributeFolder.changing.withLock { () throws(VaultError) in
            var sidecar = try self.sidecar(of: owner) ?? AttributeSidecar()
            let stored = try storedName(ofAttribute: name, of: owner).name
            let isInStore = try isStored(stored, of: owner)
            let isThere = isInStore || sidecar[name] != nil
            if flags == XATTR_CREATE && isThere { throw .system(.EEXIST) }
            if flags == XATTR_REPLACE && !isThere { throw .system(.ENODATA) }
            sidecar[name] = value
            if try mayHaveDuplicates(owner) { sidecar.isShared = true }
            try put(sidecar, of: owner.identifier)
            // What stays is behind the new value, until that is removed.
            if isInStore { try? removeFromStore(stored, of: owner) }
        }
    }

    /// Removes an attribute of the owner's sidecar, durably, and before it the one of that name in the store, which
    /// must not come back. `ENODATA` if the sidecar does not have it.
    func removeFromSidecar(_ name: [UInt8], of owner: AttributeSubject) throws(VaultError) {
        try attributeFolder.changing.withLock { () throws(VaultError) in
            guard var sidecar = try self.sidecar(of: owner), sidecar[name] != nil else { throw .system(.ENODATA) }
            let stored = try storedName(ofAttribute: name, of: owner).name
            if try isStored(stored, of: owner) {
                try removeFromStore(stored, of: owner)
                try flush(owner)
            }
            sidecar[name] = nil
            try put(sidecar, of: owner.identifier)
        }
    }

    private func isStored(_ stored: AttributeName, of owner: AttributeSubject) throws(VaultError) -> Bool {
        do throws(VaultError) { _ = try storedValue(of: stored, of: owner) } catch {
            guard error.isMissingAttribute else { throw error }
            return false
        }
        return true
    }

    /// Replaces a sidecar as a whole, durably; removes it if it is empty. Needs `changing`.
    private func put(_ sidecar: AttributeSidecar, of owner: [UInt8]) throws(VaultError) {
        guard sidecar.encodedCount <= AttributeSidecar.largest else { throw .system(.ENOSPC) }
        defer { attributeFolder.changes.add(1, ordering: .releasing) }
        let name = Name.attributes(of: owner)
        // Two files with one ID have the same sidecar.
        let replaced = (try? self.sidecar(of: owner)) == nil ? nil : sidecarNonce(of: owner)
        let folder: Descriptor
        if sidecar.attributes.isEmpty {
            guard let known = try attributeFolder.descriptor else { return }
            folder = known
            try backing { () throws(Errno) in try store.unlink(name, in: folder) }
        } else {
            folder = try makeAttributeFolder()
            let nonce = Random.bytes(16)
            let sealed = try authentic("") { () throws(CryptoError) in
                try unsafe keys.xattrs.seal(
                    sidecar.encoded.span.bytes, associatedData: owner.span.bytes, Self.component.span.bytes,
                    nonce.span.bytes)
            }
            try backing { () throws(Errno) in
                try writeWholeFile(nonce + sealed, at: name, in: folder, replacing: name)
            }
        }
        noteGone(value: replaced)
        try flush(folder: folder)
    }

    private func makeAttributeFolder() throws(VaultError) -> Descriptor {
        let folder = try makeOwnFolder(.attributes)
        // Once in each session: the process that made the folder may have crashed before its flush.
        if !attributeFolder.isDurable.load(ordering: .acquiring) {
            try flush(folder: store.root)
            attributeFolder.isDurable.store(true, ordering: .releasing)
        }
        attributeFolder.note(folder)
        return folder
    }
}

// MARK: Duplicates

extension Vault {
    /// Whether the file has fewer names than bindings: another file may have the others.
    func mayHaveDuplicates(_ owner: AttributeSubject) throws(VaultError) -> Bool {
        guard let file = owner.file else { return false }
        let links = try backing { () throws(Errno) in try store.status(of: file.descriptor).linkCount }
        return file.finalBindings.count > links
    }

    /// Notes in the sidecar of a file, if it has one, that another file may have its ID. From then on the file's header
    /// need not show that.
    func shareSidecar(of file: File) throws(VaultError) {
        let owner = file.identifier.bytes
        guard !lacksSidecar(owner) else { return }
        try attributeFolder.changing.withLock { () throws(VaultError) in
            do throws(VaultError) {
                guard var sidecar = try self.sidecar(of: owner), !sidecar.isShared else { return }
                sidecar.isShared = true
                try put(sidecar, of: owner)
            } catch {
                // One that does not open is not removed with the file's last name.
                guard error.isUnreadable else { throw error }
            }
        }
    }
}

// MARK: Removal with the owner

extension Vault {
    /// The sidecar that goes with the last name of a file, and the file; nil if there is none, or if another file may
    /// have the same ID: then fsck removes it.
    ///
    /// - Parameter moved: the file that gets the name.
    func sidecarToRemove(
        withLast stored: Name, _ status: FileStatus, in parent: Directory, for moved: File?
    ) -> (sidecar: StaleSidecars.Sidecar, file: FileIdentity)? {
        guard let folder = try? attributeFolder.descriptor else { return nil }
        let file: FileIdentifier
        let bindings: [NameBinding]
        if let known = files.file(ofInode: status.inode) {
            (file, bindings) = (known.identifier, known.finalBindings)
        } else {
            guard let descriptor = try? openBacking(stored, in: parent), let header = try? readHeader(of: descriptor)
            else { return nil }
            (file, bindings) = (header.file, header.bindings)
        }
        guard bindings.count == 1, file != moved?.identifier, !lacksSidecar(file.bytes),
            let sidecar = try? sidecar(of: file.bytes), !sidecar.isShared
        else { return nil }
        return (
            StaleSidecars.Sidecar(
                folder: folder, name: .attributes(of: file.bytes), directory: parent.descriptor, entry: nil),
            FileIdentity(identifier: file, inode: status.inode)
        )
    }

    /// The sidecar that goes with a directory.
    func sidecarToRemove(with directory: Directory?, in parent: Directory) -> StaleSidecars.Sidecar? {
        guard let directory, let folder = try? attributeFolder.descriptor, !lacksSidecar(directory.identifier.bytes)
        else { return nil }
        return StaleSidecars.Sidecar(
            folder: folder, name: .attributes(of: directory.identifier.bytes), directory: parent.descriptor, entry: nil)
    }

    /// Removes a sidecar once the absence of its owner is durable and no program has the file open. An orphan is
    /// harmless.
    func drop(_ sidecar: StaleSidecars.Sidecar, of file: FileIdentity) {
        guard let file = files[file] else { return drop(sidecar) }
        file.nameless.staleSidecar.withLock { $0 = sidecar }
    }

    /// Removes the sidecar of something that was never there under a name.
    func discardSidecar(of owner: [UInt8]) {
        guard let folder = try? attributeFolder.descriptor, !lacksSidecar(owner) else { return }
        try? store.unlink(.attributes(of: owner), in: folder)
    }
}
