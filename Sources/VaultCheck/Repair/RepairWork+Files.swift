import Crypto
import Format
import Keybag
import Posix
import Store
import Vault
import Writeback

// Files. All are moved to lost+found; one with a damaged header also gets a new header.

extension RepairWork {
    /// Repairs a file whose header does not open.
    func repairHeader(_ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome {
        try repairFile(spot, finding)
    }

    /// Repairs a file under the name of another.
    func repairBinding(_ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome {
        try repairFile(spot, finding)
    }

    private func repairFile(_ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome {
        let source = try folder(of: spot.treePath)
        let (target, path) = try lostAndFound.folder(for: spot.treePath)
        try note(finding, [])
        let isThere = source.identifier == target.identifier
        let (name, more) = try adoptFile(
            spot.stored!, in: source.descriptor, as: spot.name!, in: target, stays: isThere, finding)
        return try done(path + [UInt8(ascii: "/")] + name.bytes, more)
    }

    /// Binds a file to a name in lost+found, and moves it there.
    ///
    /// - Parameters:
    ///   - base: the wanted name; nil for the file's ID.
    ///   - stays: the file is already there, under that name.
    /// - Returns: its name, and more text for the outcome.
    func adoptFile(
        _ stored: Name, in source: Descriptor, as base: Name?, in target: Directory, stays: Bool, _ finding: Finding
    ) throws(VaultError) -> (name: Name, more: Printable) {
        let backingFile = try openRaw(stored, in: source)
        let salvaged = try SalvagedFile(of: backingFile, vault)
        func name(_ suffix: String = "", of file: FileIdentifier) throws(VaultError) -> Name {
            let base = base ?? Name(ascii: "\(file)")
            return stays ? base : try lostAndFound.freeName(base, suffix, in: target)
        }
        if let header = salvaged.header {
            let name = try name(of: header.file)
            guard takenFiles.insert(header.file).inserted else {
                return try adoptCopy(stored, in: source, backingFile, header, as: name, in: target)
            }
            try adopt(stored, in: source, backingFile, header, as: name, in: target)
            return (name, "")
        }
        if let header = salvaged.rebuilt(vault), takenFiles.insert(header.file).inserted {
            let name = try name(of: header.file)
            try adopt(stored, in: source, backingFile, header, as: name, in: target)
            return (name, ", with a new header around its key, which was whole")
        }
        guard !salvaged.mayHoldKey(vault) else {
            throw .damaged("what is left of its header may hold its key: it takes --unlock to tell")
        }
        let name = try name(".unreadable", of: salvaged.raw?.file ?? FileIdentifier(Random.bytes(16)))
        return (name, try keepUnreadable(stored, in: source, backingFile, salvaged, as: name, in: target, finding))
    }

    /// Opens a backing file in a folder whose record may be lost.
    func openRaw(_ stored: Name, in source: Descriptor) throws(VaultError) -> Descriptor {
        try vault.withOwnerPermissions(0o400, of: .entry(stored, in: source)) { () throws(VaultError) in
            try backing { () throws(Errno) in try store.open(stored, in: source, OpenFlags.read, mode: 0) }
        }
    }

    /// Writes a header with the new binding, durably, then moves the file. A crash between the two leaves a file that
    /// does not belong to its name; the next repair moves it.
    func adopt(
        _ stored: Name, in source: Descriptor, _ backingFile: Descriptor, _ header: FileHeader, as name: Name,
        in target: Directory
    ) throws(VaultError) {
        var header = header
        header.bindings = [vault.binding(of: name, in: target)]
        header.resolveStrictly()
        let status = try backing { () throws(Errno) in try store.status(of: backingFile) }
        let file = File(
            vault: vault, descriptor: backingFile, isWritable: false, header: header, isNew: false,
            status: status)
        try file.withRoom(Journal.roomForFile) { (_) throws(VaultError) in
            try file.checkpointAlone(CheckpointRequest(confirming: false))
            return true
        }
        try move(stored, in: source, to: name, in: target)
    }

    /// Renames an entry, durably, with its long name.
    func move(_ stored: Name, in source: Descriptor, to name: Name, in target: Directory) throws(VaultError) {
        let new = try vault.storedName(name, in: target)
        guard source !== target.descriptor || new.name != stored else { return }
        try vault.prepareSidecar(of: new, in: target)
        try vault.renameFresh(stored, in: source, to: new.name, in: target.descriptor)
        try flush(target.descriptor, source)
        dropSidecar(of: stored, in: source)
    }

    /// Removes the sidecar of an entry that was removed or moved.
    func dropSidecar(of stored: Name, in source: Descriptor) {
        guard BackingName(stored.bytes) == .longEntry else { return }
        try? store.unlink(Name(ascii: stored.description + BackingName.sidecarSuffix), in: source)
    }

    /// Makes a copy of another file a file of its own: two files must not have one ID.
    private func adoptCopy(
        _ stored: Name, in source: Descriptor, _ backingFile: Descriptor, _ header: FileHeader, as name: Name,
        in target: Directory
    ) throws(VaultError) -> (name: Name, more: Printable) {
        var header = header
        header.resolveStrictly()
        guard vault.canOpen(header.protectionClass) else {
            throw .damaged("a copy of a file that is elsewhere: only with --unlock can it become a file of its own")
        }
        let status = try backing { () throws(Errno) in try store.status(of: backingFile) }
        let file = File(
            vault: vault, descriptor: backingFile, isWritable: false, header: header, isNew: false,
            status: status)
        // Another file may be meant to have this name, so the copy takes a free one.
        let name = try lostAndFound.freeName(name, in: target)
        let lost = try Salvage(of: file, vault, keepingSource: false).copy(to: name, in: target)
        try backing { () throws(Errno) in try store.unlink(stored, in: source) }
        try flush(source)
        dropSidecar(of: stored, in: source)
        return (
            name, ": a copy of a file that is elsewhere\(lost.isEmpty ? "" : ", with zeros where it is damaged")"
        )
    }

    // MARK: What cannot be read at all

    /// Gives a file without a usable header a new one with its own key, so that it can be seen, kept and deleted in the
    /// mount. Its blocks do not change. The bytes of the damaged header are kept in a file beside it.
    private func keepUnreadable(
        _ stored: Name, in source: Descriptor, _ backingFile: Descriptor, _ salvaged: SalvagedFile, as name: Name,
        in target: Directory, _ finding: Finding
    ) throws(VaultError) -> Printable {
        var more: Printable = ""
        if salvaged.hasBytes {
            let headName = try lostAndFound.freeName(name, ".header", in: target)
            try lostAndFound.makeFile(headName, salvaged.bytes, in: target)
            more = ": its key is lost; what was left of its header is in \(headName)"
        }
        var identifier = FileIdentifier(Random.bytes(16))
        let attributes = try ownAttributes(of: backingFile)
        if let raw = salvaged.raw, !takenFiles.contains(raw.file),
            owns(attributes, AttributeSubject(descriptor: backingFile, identifier: raw.file.bytes))
        {
            // The attributes open under this ID only, so the file keeps it.
            identifier = raw.file
        } else if !attributes.isEmpty {
            try strip(attributes, from: AttributeSubject(descriptor: backingFile, identifier: []), finding)
        }
        takenFiles.insert(identifier)
        let wrap: FileKeyWrap
        do {
            wrap = try vault.ring.wrap(Secret(random: 32), file: identifier, class: .none)
        } catch { throw .system(.ENOMEM) }
        var header = FileHeader(
            volume: vault.volume, file: identifier, protection: FileProtection(.none, isExplicit: false, wrap),
            binding: .zero)
        header.length = salvaged.length
        header.provisionalLength = salvaged.length
        try adopt(stored, in: source, backingFile, header, as: name, in: target)
        return more
    }

    /// Whether attributes of a file prove its ID: those in the store open, or there is none but in the sidecar.
    private func owns(_ attributes: [String], _ owner: AttributeSubject) -> Bool {
        guard attributes.isEmpty else { return open(attributes, of: owner) }
        return (try? vault.sidecar(of: owner)) != nil
    }

    /// Whether all attributes open, each with its continuation.
    private func open(_ attributes: [String], of owner: AttributeSubject) -> Bool {
        attributes.allSatisfy { attribute in
            guard let stored = AttributeName(backing: attribute, owner.prefix) else { return false }
            if case .continuation = stored { return true }
            return (try? vault.openAttribute(stored, of: owner)) != nil
        }
    }

    func ownAttributes(of file: Descriptor) throws(VaultError) -> [String] {
        do throws(Errno) {
            let prefix = AttributeName.Prefix.user.rawValue.utf8
            return try store.attributeNames(of: file).filter { $0.utf8.starts(with: prefix) }
        } catch .EOPNOTSUPP {
            return []
        } catch { throw .system(error) }
    }
}
