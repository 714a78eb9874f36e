import Crypto
import Format
import Freshness
import Glibc
import Keybag
import Posix
import Store
import Writeback

extension Vault {
    /// Opens the file `name`, or returns the one that is in memory already. Its key is not loaded: metadata can be
    /// changed without one.
    ///
    /// - Parameter expected: the ID and the backing inode of the file that the caller wants. If another file has the
    ///   name by now, this throws `ESTALE` and changes nothing.
    public func openFile(
        _ name: Name, in parent: Directory, expecting expected: (file: FileIdentifier, inode: UInt64)? = nil
    ) throws(VaultError) -> File {
        try openFile(
            name, stored: try storedName(name, in: parent).name, in: parent, expecting: expected,
            isCompared: !parent.isLent)
    }

    /// The same of a file that stands under another name in the backing folder.
    ///
    /// - Parameter isCompared: with what this machine remembers of the file.
    func openFile(
        _ name: Name, stored: Name, in parent: Directory,
        expecting expected: (file: FileIdentifier, inode: UInt64)? = nil, isCompared: Bool = true
    ) throws(VaultError) -> File {
        let headerWrites = self.flushes.headerWrites.load(ordering: .acquiring)
        if let expected, let file = fileInMemory(inode: expected.inode, at: binding(of: name, in: parent)),
            file.identity.identifier == expected.file,
            try backingStatus(of: .entry(stored, in: parent.descriptor)).inode == expected.inode
        {
            try compare(file, foundAs: name, stored, in: parent)
            return file
        }
        let writable = try openWritableBacking(stored, in: parent)
        let descriptor = if let writable { writable } else { try openBacking(stored, in: parent) }
        let placed = try readHeader(of: descriptor)
        guard expected == nil || placed.file == expected?.file else { throw .system(.ESTALE) }
        let binding = binding(of: name, in: parent)
        guard let header = try self.header(placed, of: descriptor, foundAt: binding) else {
            throw .damaged("the file here belongs to another name")
        }
        guard header.features.canWrite || isReadOnly else { throw .system(.EROFS) }
        let status = try backing { () throws(Errno) in try store.status(of: descriptor) }
        // A program that synchronizes folders replaces a file by one of the same ID.
        guard expected == nil || status.inode == expected?.inode || !traits.keepsInodeNumbers else {
            throw .system(.ESTALE)
        }
        if let known = files[FileIdentity(identifier: header.file, inode: status.inode)] {
            if isCompared { try compare(known, foundAs: name, stored, in: parent) }
            return known
        }
        if expected != nil, self.flushes.headerWrites.load(ordering: .acquiring) == headerWrites {
            try checkSummary(of: descriptor, status, against: header, at: binding)
        }
        let overlay = overlay(of: header, inode: status.inode)
        let place = FoundPlace(
            name: name, stored: stored, parent: parent, binding: binding, inode: status.inode, descriptor: descriptor)
        let stale = isCompared ? try staleness(of: overlay?.header ?? header, place) : nil
        let fresh = File(
            vault: self, descriptor: descriptor, isWritable: writable != nil, header: header.resolved(at: binding),
            isNew: false, status: status)
        if let freshness, isCompared {
            fresh.markKeys = [MarkKey(header.file, at: binding)]
            let own = ownGeneration(at: fresh.markKeys[0])
            if own >= header.generation { fresh.state.durable.surpass(min(own, Marks.highestGeneration)) }
            fresh.mayHaveLostNumbers = header.numbersBlocks && status.isWithin(left.windows.withLock { $0 })
            fresh.isBounded = header.numbersBlocks && freshness.marks.hasBounds(of: fresh.markKeys[0])
        }
        if flushes.headers.hold(header.generation, of: fresh.identity) {
            fresh.state.durable.didFlush(header.generation)
        }
        fresh.state.names.didFind(placed, at: binding, isOnlyLink: status.linkCount == 1)
        let file = try register(fresh, at: binding, since: headerWrites)
        if let stale { file.found(stale, refusing: freshness?.answer == .refuse) }
        if let overlay { file.show(overlay, at: binding, status) }
        // A crash came in the middle of a rename: the file belongs where it was found.
        if !isReadOnly, stale == nil, file.lock.withShared({ file.state.names.isInterrupted }) {
            if isShared {
                let place = status.linkCount == 1 ? binding : nil
                file.interruption.withLock { $0 = Interruption(binding: place) }
                return file
            }
            if status.linkCount == 1 { try shareSidecar(of: file) }
            try file.stay(at: status.linkCount == 1 ? binding : nil)
            file.marks.hasChangedAtOpen.store(true, ordering: .releasing)
        }
        return file
    }

    /// The file of a backing inode, if it is in memory and belongs at a name: while it is, its header in memory is the
    /// one that counts, and its descriptor keeps the inode's number from being used again, except on a server.
    func fileInMemory(inode: UInt64, at binding: NameBinding) -> File? {
        guard traits.pinsOpenInodes, let file = files.file(ofInode: inode) else { return nil }
        return file.lock.withShared { file.state.header.belongs(at: binding) } ? file : nil
    }

    /// Inserts a file that was opened; returns the one in the table. Between the reading of its header and this call,
    /// an earlier `File` may have written the header and gone: then the header is read again.
    ///
    /// - Parameters:
    ///   - binding: where the file was found; nil if it does not belong there.
    ///   - headerWrites: how many headers had been written before this one was read.
    func register(_ file: File, at binding: NameBinding?, since headerWrites: UInt64) throws(VaultError) -> File {
        // A thread that finds the file in the table waits until its state is right.
        try file.lock.withExclusive { () throws(VaultError) in
            let known = files.insert(file)
            guard known === file, self.flushes.headerWrites.load(ordering: .acquiring) != headerWrites else {
                return known
            }
            let placed = try readHeader(of: file.descriptor)
            guard placed.generation != file.state.header.generation else { return file }
            let status = try backing { () throws(Errno) in try store.status(of: file.descriptor) }
            guard let binding else {
                guard placed.pending == nil else { throw .system(.ESTALE) }
                file.state = FileState(placed, isNew: false, status)
                file.noteFoundHeader()
                return file
            }
            guard let header = try self.header(placed, of: file.descriptor, foundAt: binding) else {
                throw .system(.ESTALE)
            }
            file.state = FileState(header.resolved(at: binding), isNew: false, status)
            file.state.names.didFind(placed, at: binding, isOnlyLink: status.linkCount == 1)
            file.noteFoundHeader()
            return file
        }
    }

    /// Makes an empty file, open and with its key in memory, as a whole or not at all.
    ///
    /// Its class is usually what `classOfNewFile` says. `locked` when the key for that class is not in memory; then no
    /// name is left behind.
    public func createFile(
        _ name: Name, in parent: Directory, _ ownership: Ownership, _ protectionClass: ProtectionClass
    ) throws(VaultError) -> File {
        let stored = try storedName(name, in: parent)
        let temporary = Name.temporary()
        let binding = binding(of: name, in: parent)
        let file = try makeFile(
            temporary, in: parent.descriptor, at: binding, createdIn: parent.identifier,
            try inheritance(ownership, in: parent, of: .regular), protectionClass)
        file.passTime(at: binding)
        do throws(VaultError) {
            try prepareSidecar(of: stored, in: parent)
            try renameFresh(temporary, to: stored.name, in: parent)
        } catch {
            // A checkpoint may still have the file in memory, and no eviction knows of its key.
            file.close()
            files.unlist(file)
            try? store.unlink(temporary, in: parent.descriptor)
            discardSidecar(of: file.identifier.bytes)
            throw error
        }
        noteName(of: file, at: binding)
        return file
    }

    /// Makes an empty file in a folder of the store; it belongs at `binding`.
    ///
    /// - Parameter createdIn: the directory whose sync makes it durable that the file is there.
    func makeFile(
        _ temporary: Name, in folder: Descriptor, at binding: NameBinding, createdIn: DirectoryIdentifier?,
        _ inherited: Inheritance, _ protectionClass: ProtectionClass
    ) throws(VaultError) -> File {
        try boundDirtyFiles()
        let identifier = FileIdentifier(Random.bytes(16))
        let key = FileKey(
            try authentic("") { () throws(CryptoError) in try Secret(random: 32) }, countedBy: memory.fileKeys)
        let generation = ring.generation
        let wrap: FileKeyWrap
        do {
            wrap = try ring.wrap(key.secret, file: identifier, class: protectionClass)
        } catch { throw VaultError(error) }
        var header = FileHeader(
            volume: keys.volume, file: identifier,
            protection: FileProtection(protectionClass, isExplicit: false, wrap), binding: binding)
        header.numbersBlocks = traits.numbersBlocks
        let descriptor = try backing { () throws(Errno) in
            try create(temporary: temporary, in: folder, mode: inherited.firstMode)
        }
        do throws(VaultError) {
            let status = try backing { () throws(Errno) in try store.status(of: descriptor) }
            let file = files.insert(
                File(
                    vault: self, descriptor: descriptor, isWritable: true, header: header, isNew: true,
                    status: status))
            file.key.withLock { $0 = key }
            file.marks.mayHaveCapabilities.store(false, ordering: .relaxed)
            // Rekeying may have passed this folder before the file was there.
            if ring.generation != generation { order.renames.noteUnknown() }
            try file.lock.withExclusive { () throws(VaultError) in
                try file.writeHeaderInPlace()
                file.state.names.didCreate(in: createdIn)
                file.list()
            }
            do throws(VaultError) {
                try give(AttributeOwner.file(file).subject, inherited, made: status)
            } catch {
                file.close()
                files.unlist(file)
                throw error
            }
            return file
        } catch {
            try? store.unlink(temporary, in: folder)
            discardSidecar(of: identifier.bytes)
            throw error
        }
    }

    /// The class of a new entry in a folder. An older record may have a weaker one than this machine has seen.
    public func classOfNew(in parent: Directory) -> ProtectionClass {
        let (record, older) = parent.state.withLock { ($0.record, $0.older) }
        return min(record.defaultClass, older?.seenClass ?? record.defaultClass, options.minimumClass)
    }

    /// The class that a file created under `name` gets.
    ///
    /// SQLite keeps a database's contents in `-wal` and `-journal` too. Its `-shm` is an index without contents that
    /// all users of a database in WAL mode map: if its class were stricter than C, each lock would kill those programs
    /// with SIGBUS.
    ///
    /// - Throws: the error of looking the database up: without it, the class that the file needs is unknown.
    public func classOfNewFile(_ name: Name, in parent: Directory) throws(VaultError) -> ProtectionClass {
        let inherited = classOfNew(in: parent)
        guard let side = SQLiteSideFile(name) else { return inherited }
        var database = inherited
        do throws(VaultError) {
            if case .file(let header) = try lookup(side.database, in: parent).details {
                database = strictest(
                    header.protectionClass, of: header.file, at: binding(of: side.database, in: parent))
            }
        } catch {
            guard error == .system(.ENOENT) else { throw error }
        }
        return side.hasContents
            ? min(database, options.minimumClass) : max(database, .completeUntilFirstUserAuthentication)
    }
}
