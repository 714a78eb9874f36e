import Crypto
import Format
import Posix
import Store

// docs/FORMAT.md, "Symbolic links".

extension Vault {
    /// The longest ciphertext with its nonce, in bytes, that fits a symbolic link of the backing store as base64url.
    private static let longestInLink = 3071
    /// PATH_MAX without its NUL, a nonce and a tag, in bytes.
    private static let longestStored = 4095 + 32

    /// The target of a symbolic link.
    public func readSymbolicLink(_ name: Name, in parent: Directory) throws(VaultError) -> [UInt8] {
        let stored = try storedName(name, in: parent).name
        let sealed = try sealedTarget(stored, in: parent.descriptor)
        let target = try openTarget(sealed)
        try compare(
            value: Array(sealed.prefix(16)), .symbolicLink, .entry(name, stored: stored, in: parent.identifier)
        ) { (try? sealedTarget(stored, in: parent.descriptor)) == sealed }
        return target
    }

    /// The target in the symbolic link with the backing name `stored`.
    package func readTarget(_ stored: Name, in folder: Descriptor) throws(VaultError) -> [UInt8] {
        try openTarget(try sealedTarget(stored, in: folder))
    }

    /// The nonce of a target and what is sealed with it, 33 bytes or more.
    package func sealedTarget(_ stored: Name, in folder: Descriptor) throws(VaultError) -> [UInt8] {
        let text = try backing { () throws(Errno) in try store.readSymbolicLink(stored, in: folder) }
        let bytes = if let name = Self.longTarget(text) { try readLongTarget(name) } else { Base64URL.decode(text) }
        guard let bytes, bytes.count > 32 else { throw .damaged("the target of a symbolic link is not ours") }
        return bytes
    }

    func openTarget(_ bytes: [UInt8]) throws(VaultError) -> [UInt8] {
        try authentic("the target of a symbolic link was changed") { () throws(CryptoError) in
            let nonce = unsafe bytes.span.bytes.extracting(0..<16)
            return try keys.symlinks.open(
                unsafe bytes.span.bytes.extracting(16..<bytes.count), associatedData: nonce)
        }
    }

    /// The length of a target, from the length of the text in the backing link: reading the link would change its time
    /// of access.
    func targetLength(of stored: Name, _ status: FileStatus, in folder: Descriptor) throws(VaultError) -> Int64 {
        let count = Int(status.size)
        if count == BackingName.longTargetPrefix.utf8.count + 22 {
            return Int64(try readTarget(stored, in: folder).count)
        }
        guard let bytes = Base64URL.decodedCount(count), bytes > 32 else {
            throw .damaged("the target of a symbolic link is not ours")
        }
        return Int64(bytes - 32)
    }

    public func makeSymbolicLink(
        to target: [UInt8], _ name: Name, in parent: Directory, user: UInt32, group: UInt32
    ) throws(VaultError) {
        let stored = try storedName(name, in: parent)
        let owner = try inheritance(
            Ownership(mode: 0, user: user, group: group), in: parent, of: .symbolicLink
        ).ownership
        let nonce = Random.bytes(16)
        let sealed = try authentic("") { () throws(CryptoError) in
            try unsafe nonce + keys.symlinks.seal(target.span.bytes, associatedData: nonce.span.bytes)
        }
        try prepareSidecar(of: stored, in: parent)
        let long = sealed.count > Self.longestInLink ? try writeLongTarget(sealed) : nil
        do {
            try makeOwned(stored, in: parent) { (name) throws(Errno) in
                try store.makeSymbolicLink(
                    to: long?.bytes ?? Base64URL.encode(sealed), name, in: parent.descriptor)
                if options.isPrivileged { try setOwner(owner, ofLink: name, in: parent.descriptor) }
            }
        } catch {
            if let long { drop(long, in: parent) }
            throw error
        }
    }

    /// Gives a new link its owner. A store that follows the link looks in vain for a file of that name: sshfs does.
    /// That does not matter if the link has its owner already.
    private func setOwner(_ owner: Ownership, ofLink name: Name, in folder: Descriptor) throws(Errno) {
        do throws(Errno) { try store.setOwner(user: owner.user, group: owner.group, of: name, in: folder) } catch {
            guard error == .ENOENT, let status = try? store.status(of: name, in: folder),
                status.owner == owner.user, status.group == owner.group
            else { throw error }
        }
    }

    // MARK: Long targets

    /// The name of the file with the target, nil if the link's text is the target itself.
    package static func longTarget(_ text: [UInt8]) -> Name? {
        guard text.starts(with: Array(BackingName.longTargetPrefix.utf8)),
            Base64URL.decode(Array(text.dropFirst(BackingName.longTargetPrefix.utf8.count)))?.count == 16
        else { return nil }
        return Name(bytes: text)
    }

    /// The long target to remove together with an entry, which must be the last name of its symbolic link.
    func longTarget(of stored: Name, _ status: FileStatus, in folder: Descriptor) -> Name? {
        guard Self.mayHaveLongTarget(status), let text = try? store.readSymbolicLink(stored, in: folder) else {
            return nil
        }
        return Self.longTarget(text)
    }

    /// Whether it is the last name of a symbolic link whose text has the length of a long target's name.
    private static func mayHaveLongTarget(_ status: FileStatus) -> Bool {
        status.kind == .symbolicLink && status.linkCount == 1
            && status.size == BackingName.longTargetPrefix.utf8.count + 22
    }

    /// The folder of long targets, nil if there is none. It lies in the root so that no rename has to move targets.
    package func openTargets() throws(VaultError) -> Descriptor? {
        do throws(Errno) { return try store.open(.targets, in: store.root, OpenFlags.directory, mode: 0) } catch {
            switch error {
            case .ENOENT: return nil
            case .ENOTDIR, .ELOOP: throw .damaged("the folder of long targets is not a folder")
            default: throw .system(error)
            }
        }
    }

    private func readLongTarget(_ name: Name) throws(VaultError) -> [UInt8] {
        let missing = VaultError.damaged("the long target of a symbolic link is missing")
        guard let folder = try openTargets() else { throw missing }
        do throws(VaultError) { return try readAll(name, in: folder, upTo: Self.longestStored) } catch {
            throw error == .system(.ENOENT) ? missing : error
        }
    }

    /// Writes a long target, durable before its link appears.
    private func writeLongTarget(_ sealed: [UInt8]) throws(VaultError) -> Name {
        let name = Name.longTarget()
        let folder = try makeOwnFolder(.targets)
        // Once in each session: the process that made the folder may have crashed before its flush.
        if !flushes.hasFlushedTargets.load(ordering: .acquiring) {
            try flush(folder: store.root)
            flushes.hasFlushedTargets.store(true, ordering: .releasing)
        }
        try backing { () throws(Errno) in try writeWholeFile(sealed, at: name, in: folder) }
        try flush(folder: folder)
        return name
    }

    /// Marks a long target as shared before its link gets a second name: it is never removed then. A copier that
    /// ignores hard links makes several links to one target, and none of them shows whether it is the last.
    func keepLongTarget(of stored: Name, in folder: Descriptor) throws(VaultError) {
        guard Self.mayHaveLongTarget(try backingStatus(of: .entry(stored, in: folder))) else { return }
        let text = try backing { () throws(Errno) in try store.readSymbolicLink(stored, in: folder) }
        guard let target = Self.longTarget(text), let targets = try openTargets() else { return }
        try backing { () throws(Errno) in
            let file = try store.open(target, in: targets, OpenFlags.read, mode: 0)
            try store.setMode(Self.sharedMode, of: file)
            try store.synchronize(file, dataOnly: false)
        }
    }

    /// The mode of a target that several links may name: not writable, which marks it as shared.
    private static let sharedMode: UInt32 = 0o400

    /// Removes a long target once the absence of its link is durable. An orphan is harmless.
    func drop(_ target: Name, in directory: Directory) {
        guard let folder = try? openTargets(), let status = try? store.status(of: target, in: folder),
            status.mode & 0o200 != 0
        else { return }
        drop(StaleSidecars.Sidecar(folder: folder, name: target, directory: directory.descriptor, entry: nil))
    }
}
