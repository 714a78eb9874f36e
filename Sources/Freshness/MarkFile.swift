import Crypto
import Format
import Glibc
import Posix

/// The file of marks: a head, then batches of marks that are appended, each sealed with its position. Not thread-safe.
///
/// A mark is a lower bound, so a file that is cut, or ends in what a power loss has left of a batch, has lost the later
/// marks and is right otherwise. It is never flushed for a program's fsync(2).
///
/// docs/FORMAT.md, "The file of marks".
struct MarkFile: Sendable {
    /// So many marks are sealed at once: 160 KiB.
    static let batch = 4096
    private static let countByteCount = 8

    /// Opened once: another user may own the folder, and put another one in its place.
    private let folder: Descriptor
    private let name: Name
    private let volume: VolumeIdentifier
    private let cipher: DeterministicCipher
    private let owner: (user: UInt32, group: UInt32)?
    private var file: Descriptor
    private var head: MarkFileHead
    /// The number of the next batch, and where it goes.
    private var next: (batch: UInt64, offset: Int64)
    /// How many marks the file has, older ones of the same name among them.
    private(set) var count: Int

    /// Opens the file, or makes an empty one, and gives `body` its marks, the later ones last.
    ///
    /// - Parameters:
    ///   - cipher: keyed for the volume's marks.
    ///   - most: so many marks are read at most; a file that has more is as if it ended there.
    ///   - owner: who gets a file that is made; nil for this process.
    ///   - patience: how long to wait for another process that has the file.
    /// - Throws: EWOULDBLOCK if another process has the file; EINVAL if it is not a regular file.
    init(
        path: Path, volume: VolumeIdentifier, cipher: DeterministicCipher, most: Int,
        owner: (user: UInt32, group: UInt32)? = nil, patience: Duration = .seconds(1),
        _ body: (MarkEntry) -> Void
    ) throws(Errno) {
        let split = path.split
        guard let name = Name(bytes: split.last.bytes) else { throw .EINVAL }
        folder = try Descriptor.open(path: split.folder, O_RDONLY | O_DIRECTORY)
        self.name = name
        self.volume = volume
        self.cipher = cipher
        self.owner = owner
        file = try Self.open(name, in: folder, patience)
        head = Self.freshHead(volume)
        next = (0, Int64(MarkFileHead.byteCount))
        count = 0
        var bytes = [UInt8](repeating: 0, count: MarkFileHead.byteCount)
        switch try file.read(into: &bytes, at: 0) {
        case 0 where try file.status().linkCount == 1: try begin()
        case bytes.count:
            guard let found = MarkFileHead(decoding: bytes), found.volume == volume else { fallthrough }
            head = found
            (next, count) = try Self.batches(of: file, behind: head, cipher, most, body)
        default:
            // What is there is left as it is until another file has its name.
            try replace(by: MarkTable()) { _ in nil }
        }
    }

    /// A new file, locked, with a head alone.
    private init(
        in folder: Descriptor, _ name: Name, _ volume: VolumeIdentifier, _ cipher: DeterministicCipher,
        owner: (user: UInt32, group: UInt32)?
    ) throws(Errno) {
        (self.folder, self.name) = (folder, name)
        (self.volume, self.cipher, self.owner) = (volume, cipher, owner)
        file = try folder.open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        try file.lockExclusively()
        head = Self.freshHead(volume)
        next = (0, Int64(MarkFileHead.byteCount))
        count = 0
        try begin()
    }

    /// Writes the head of an empty file. Root may work with the files of another user, who must be able to use it.
    private func begin() throws(Errno) {
        if let owner { try file.setOwner(user: owner.user, group: owner.group) }
        try unsafe file.write(head.encoded.span.bytes, at: 0)
    }

    private static func freshHead(_ volume: VolumeIdentifier) -> MarkFileHead {
        MarkFileHead(volume: volume, identifier: Random.bytes(MarkFileHead.identifierByteCount))
    }

    /// A daemon that is ending, or a program that this one is about to start, may have the lock for a moment.
    private static func lock(_ file: Descriptor, _ patience: Duration) throws(Errno) {
        let end = BootClock.now + patience
        while true {
            do throws(Errno) { return try file.lockExclusively() } catch {
                guard error == .EWOULDBLOCK, BootClock.now < end else { throw error }
            }
            usleep(10_000)
        }
    }

    private static func open(_ name: Name, in folder: Descriptor, _ patience: Duration) throws(Errno) -> Descriptor {
        let file = try folder.open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        let status = try file.status()
        guard status.kind == .regular else { throw .EINVAL }
        try lock(file, patience)
        // Another process may have replaced it before it gave the lock back.
        guard try folder.status(of: name).inode == status.inode else { throw .EWOULDBLOCK }
        return file
    }

    /// Gives `body` the marks of a file that another process may write to.
    static func read(
        _ path: Path, volume: VolumeIdentifier, cipher: DeterministicCipher, most: Int, _ body: (MarkEntry) -> Void
    ) throws(Errno) {
        let file = try Descriptor.open(path: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        guard try file.status().kind == .regular else { throw .EINVAL }
        var bytes = [UInt8](repeating: 0, count: MarkFileHead.byteCount)
        guard try file.read(into: &bytes, at: 0) == bytes.count, let head = MarkFileHead(decoding: bytes),
            head.volume == volume
        else { return }
        _ = try batches(of: file, behind: head, cipher, most, body)
    }

    /// Gives `body` the marks of a file that no program writes to, and that must have all that was written to it. False
    /// if it is another volume's or of another key, damaged, cut within a batch, or has more than `most` marks. Nothing
    /// tells how many batches there were.
    static func readWhole(
        _ path: Path, volume: VolumeIdentifier, cipher: DeterministicCipher, most: Int, _ body: (MarkEntry) -> Void
    ) throws(Errno) -> Bool {
        let file = try Descriptor.open(path: path, O_RDONLY | O_NONBLOCK)
        let status = try file.status()
        guard status.kind == .regular else { throw .EINVAL }
        var bytes = [UInt8](repeating: 0, count: MarkFileHead.byteCount)
        guard try file.read(into: &bytes, at: 0) == bytes.count, let head = MarkFileHead(decoding: bytes),
            head.volume == volume
        else { return false }
        return try batches(of: file, behind: head, cipher, most, body).next.offset == status.size
    }

    /// Reads up to the first batch that is cut or not authentic. Returns where that begins, and how many marks there
    /// are before it.
    private static func batches(
        of file: Descriptor, behind head: MarkFileHead, _ cipher: DeterministicCipher, _ most: Int,
        _ body: (MarkEntry) -> Void
    ) throws(Errno) -> (next: (batch: UInt64, offset: Int64), count: Int) {
        let size = try file.status().size
        var next = (batch: UInt64(0), offset: Int64(MarkFileHead.byteCount))
        var read = 0
        reading: while read < most {
            var counted = [UInt8](repeating: 0, count: countByteCount)
            guard try file.read(into: &counted, at: next.offset) == counted.count else { break }
            let marks = counted.reversed().reduce(0) { $0 << 8 | UInt64($1) }
            guard marks > 0, marks <= batch else { break }
            var sealed = [UInt8](repeating: 0, count: sealedByteCount(Int(marks)))
            let offset = next.offset + Int64(countByteCount)
            let end = offset + Int64(sealed.count)
            guard end <= size, try file.read(into: &sealed, at: offset) == sealed.count else { break }
            let plain: [UInt8]
            do throws(CryptoError) {
                plain = try unsafe cipher.open(
                    sealed.span.bytes, associatedData: head.encoded.span.bytes, place(next.batch).span.bytes)
            } catch .notAuthentic { break reading } catch {
                // The next batch would be written over those that could not be read now.
                throw .ENOMEM
            }
            let span = unsafe plain.span.bytes
            for index in 0..<Int(marks) {
                guard let entry = MarkEntry(span, at: index * MarkRecord.byteCount) else { continue }
                body(entry)
            }
            read += Int(marks)
            next = (next.batch + 1, end)
        }
        return (next, read)
    }

    private static func sealedByteCount(_ marks: Int) -> Int {
        DeterministicCipher.tagSize + marks * MarkRecord.byteCount
    }

    private static func place(_ batch: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: batch >> UInt64(8 * $0)) }
    }

    /// Whether the file is still there as it was written, under its name alone. Another name may be that of a backup,
    /// or of a file that is none of ours.
    var isIntact: Bool {
        guard let status = try? file.status(), let named = try? folder.status(of: name) else { return false }
        return status.linkCount == 1 && named.inode == status.inode && status.size >= next.offset
    }

    /// Appends marks. If it throws, those that were not written may be given again.
    mutating func append(_ marks: [MarkEntry]) throws(Errno) {
        for begin in stride(from: 0, to: marks.count, by: Self.batch) {
            try append(batch: marks[begin..<min(begin + Self.batch, marks.count)])
        }
    }

    private mutating func append(batch marks: ArraySlice<MarkEntry>) throws(Errno) {
        var plain = [UInt8](repeating: 0, count: marks.count * MarkRecord.byteCount)
        do {
            var elements = plain.mutableSpan
            var bytes = unsafe elements.mutableBytes
            for (index, entry) in marks.enumerated() {
                entry.store(into: &bytes, at: index * MarkRecord.byteCount)
            }
        }
        let sealed: [UInt8]
        do throws(CryptoError) {
            sealed = try unsafe cipher.seal(
                plain.span.bytes, associatedData: head.encoded.span.bytes, Self.place(next.batch).span.bytes)
        } catch { throw .ENOMEM }
        let counted = (0..<Self.countByteCount).map { UInt8(truncatingIfNeeded: marks.count >> (8 * $0)) }
        let bytes = counted + sealed
        try unsafe file.write(bytes.span.bytes, at: next.offset)
        next = (next.batch + 1, next.offset + Int64(bytes.count))
        count += marks.count
    }

    /// Writes a file with the names of a table alone, and replaces this one by it, durably.
    ///
    /// - Parameter mark: what to write of a name; nil to leave it out.
    mutating func replace(by table: MarkTable, _ mark: (MarkKey) -> Mark?) throws(Errno) {
        // Of a killed program. Only who has the lock on the file itself comes here.
        if let temporary = Self.temporary(of: name) { try? folder.unlink(temporary) }
        let made = try Self.write(table, mark, as: name, in: folder, volume, cipher, owner: owner)
        (file, head, next, count) = (made.file, made.head, made.next, made.count)
    }

    /// Writes a table to a new file, durably; it has its name when it is whole.
    ///
    /// - Parameter path: of no other file, and of none that another program is writing.
    static func write(
        _ table: MarkTable, to path: Path, volume: VolumeIdentifier, cipher: DeterministicCipher
    ) throws(Errno) {
        let split = path.split
        guard let name = Name(bytes: split.last.bytes) else { throw .EINVAL }
        let folder = try Descriptor.open(path: split.folder, O_RDONLY | O_DIRECTORY)
        // Of a killed program.
        if let temporary = temporary(of: name) { try? folder.unlink(temporary) }
        _ = try write(table, { table[$0] }, as: name, in: folder, volume, cipher, owner: nil)
    }

    private static func temporary(of name: Name) -> Name? {
        Name(bytes: Array(".".utf8) + name.bytes + Array(".new".utf8))
    }

    private static func write(
        _ table: MarkTable, _ mark: (MarkKey) -> Mark?, as name: Name, in folder: Descriptor,
        _ volume: VolumeIdentifier, _ cipher: DeterministicCipher, owner: (user: UInt32, group: UInt32)?
    ) throws(Errno) -> MarkFile {
        guard let temporary = temporary(of: name) else { throw .ENAMETOOLONG }
        var made = try MarkFile(in: folder, temporary, volume, cipher, owner: owner)
        do throws(Errno) {
            var batch: [MarkEntry] = []
            func appendFull() throws(Errno) {
                guard batch.count >= Self.batch else { return }
                try made.append(batch)
                batch.removeAll(keepingCapacity: true)
            }
            try table.forEach { (key, _) throws(Errno) in
                guard let mark = mark(key) else { return }
                batch.append(.mark(key, mark))
                try appendFull()
            }
            try table.blocks.forEach { (key, bounds) throws(Errno) in
                batch += bounds.entries(of: key)
                try appendFull()
            }
            try made.append(batch)
            try made.file.synchronize(dataOnly: false)
            try folder.rename(temporary, to: name, in: folder)
        } catch {
            try? folder.unlink(temporary)
            throw error
        }
        try? folder.synchronize(dataOnly: false)
        return made
    }
}
