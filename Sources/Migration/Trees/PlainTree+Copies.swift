import Glibc
import Posix
import Store
import Vault

extension PlainTree {
    /// More files than this are flushed by one flush of the whole file system.
    private static let mostFlushedAlone = 64

    func makeFolder(_ name: Name, in parent: Descriptor) throws(VaultError) -> Descriptor {
        do throws(VaultError) { return try openFolder(name, in: parent) } catch {
            guard error == .system(.ENOENT) else { throw error }
        }
        try backing { () throws(Errno) in try store.makeDirectory(name, in: parent, mode: 0o700) }
        return try openFolder(name, in: parent)
    }

    func stage(_ name: Name, in folder: Descriptor) throws(VaultError) -> PlainFile {
        let staged = Name.random()
        return try backing { () throws(Errno) in
            let file = try store.open(staged, in: staging, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            return PlainFile(file, stagedName: staged)
        }
    }

    func write(_ bytes: RawSpan, to file: PlainFile, at offset: Int64) throws(VaultError) {
        do throws(Errno) { try store.write(bytes, to: file.descriptor, at: offset) } catch { throw .system(error) }
    }

    func truncate(_ file: PlainFile, to size: Int64) throws(VaultError) {
        try backing { () throws(Errno) in try store.truncate(file.descriptor, to: size) }
    }

    /// A change of owner takes set-ID bits and capabilities away, and a mode is the mask of a list: so the order is
    /// owner, lists, mode, attributes, times.
    func give(_ metadata: Metadata, to subject: Subject<PlainTree>) throws(VaultError) {
        try backing { () throws(Errno) in
            switch subject {
            case .file(let file): try give(metadata, to: file.descriptor)
            case .folder(let folder): try give(metadata, to: folder)
            case .node(let name, let folder): try give(metadata, toNode: name, in: folder)
            }
        }
    }

    private func give(_ metadata: Metadata, to file: Descriptor) throws(Errno) {
        let status = try store.status(of: file)
        if status.owner != metadata.owner || status.group != metadata.group {
            try store.setOwner(user: metadata.owner, group: metadata.group, of: file)
        }
        try give(metadata.attributes, to: file) { KeptAttributes.isAccessList($0) || KeptAttributes.isDefaultList($0) }
        try store.setMode(metadata.permissions, of: file)
        try give(metadata.attributes, to: file) {
            !KeptAttributes.isAccessList($0) && !KeptAttributes.isDefaultList($0)
        }
        try store.setTimes(accessed: .at(metadata.accessed), modified: .at(metadata.modified), of: file)
    }

    private func give(_ attributes: [Attribute], to file: Descriptor, where isMeant: ([UInt8]) -> Bool) throws(Errno) {
        let wanted = Set(attributes.map(\.name))
        let present: [String]
        do throws(Errno) { present = try store.attributeNames(of: file) } catch .EOPNOTSUPP { present = [] }
        for name in present {
            let bytes = Array(name.utf8)
            guard KeptAttributes.mayBeKept(bytes), isMeant(bytes), !wanted.contains(bytes) else { continue }
            try store.removeAttribute(name, of: file)
        }
        for attribute in attributes where isMeant(attribute.name) {
            guard let name = String(validating: attribute.name, as: UTF8.self) else { throw .EILSEQ }
            try store.setAttribute(name, to: attribute.value, of: file)
        }
    }

    private func give(_ metadata: Metadata, toNode name: Name, in folder: Descriptor) throws(Errno) {
        let status = try store.status(of: name, in: folder)
        if status.owner != metadata.owner || status.group != metadata.group {
            try store.setOwner(user: metadata.owner, group: metadata.group, of: name, in: folder)
        }
        if status.kind != .symbolicLink { try store.setMode(metadata.permissions, of: name, in: folder) }
        if !metadata.attributes.isEmpty {
            try give(metadata.attributes, to: try store.open(name, in: folder, O_PATH)) { _ in true }
        }
        try store.setTimes(
            accessed: .at(metadata.accessed), modified: .at(metadata.modified), of: name, in: folder)
    }

    func flush(_ files: [PlainFile], hasNodes: Bool) throws(VaultError) {
        try backing { () throws(Errno) in
            // A symbolic link or a FIFO cannot be flushed alone.
            guard !hasNodes, files.count <= Self.mostFlushedAlone else { return try store.synchronizeAll() }
            for file in files { try store.synchronize(file.descriptor, dataOnly: false) }
        }
    }

    func dropCache(of file: PlainFile) {
        // Only clean pages go, and the file was flushed.
        _ = posix_fadvise(file.descriptor.number, 0, 0, POSIX_FADV_DONTNEED)
    }

    func publish(_ file: PlainFile, as name: Name, in folder: Descriptor) throws(VaultError) {
        guard let staged = file.stagedName.withLock({ $0 }) else { throw .system(.ENOENT) }
        try rename(staged, in: staging, to: name, in: folder)
        file.stagedName.withLock { $0 = nil }
    }

    /// Replaces nothing.
    func rename(
        _ name: Name, in folder: Descriptor, to newName: Name, in newFolder: Descriptor
    ) throws(VaultError) {
        try backing { () throws(Errno) in
            do throws(Errno) {
                try store.rename(name, in: folder, to: newName, in: newFolder, flags: RENAME_NOREPLACE)
            } catch .EINVAL {
                // The file system does not know the flag; a second name replaces nothing either.
                try store.link(name, in: folder, to: newName, in: newFolder)
                try store.unlink(name, in: folder)
            }
        }
    }

    func link(_ name: Name, in folder: Descriptor, to newName: Name, in newFolder: Descriptor) throws(VaultError) {
        try backing { () throws(Errno) in try store.link(name, in: folder, to: newName, in: newFolder) }
    }

    func stage(_ node: Node, _ metadata: Metadata) throws(VaultError) -> Name? {
        let staged = Name.random()
        try backing { () throws(Errno) in
            switch node {
            case .symbolicLink(let target): try store.makeSymbolicLink(to: target, staged, in: staging)
            case .special(let mode, let device): try store.makeNode(staged, in: staging, mode: mode, device: device)
            }
            try give(metadata, toNode: staged, in: staging)
        }
        return staged
    }

    func publish(_ node: Node, _ staged: Name?, as name: Name, in folder: Descriptor) throws(VaultError) {
        guard let staged else { throw .system(.ENOENT) }
        try rename(staged, in: staging, to: name, in: folder)
    }

    func flushAll() throws(VaultError) { try backing { () throws(Errno) in try store.synchronizeAll() } }

    func removeStaged(_ file: PlainFile) {
        guard let staged = file.stagedName.withLock({ $0 }) else { return }
        removeStaged(staged)
    }

    /// What cannot be removed, the next run removes.
    func removeStaged(_ node: Name) { try? store.unlink(node, in: staging) }

    // MARK: Taking away

    func setAside(_ name: Name, as newName: Name, in folder: Descriptor) throws(VaultError) {
        try rename(name, in: folder, to: newName, in: folder)
    }

    func removeFolder(_ name: Name, in parent: Descriptor) throws(VaultError) {
        try backing { () throws(Errno) in try store.removeDirectory(name, in: parent) }
    }

    func remove(_ name: Name, in folder: Descriptor) throws(VaultError) {
        try backing { () throws(Errno) in try store.unlink(name, in: folder) }
    }
}
