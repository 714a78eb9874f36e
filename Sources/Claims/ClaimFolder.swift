import Crypto
import Format
import Glibc
import Posix
import Store

/// `lk.claims`: a file for each claim, named by its epoch, and the question `lk.claim.ask`. Thread-safe.
///
/// The file of the next epoch is made with O_EXCL: of two processes that want it, one gets it. Each call opens what it
/// needs by name, because some network stores show another client's changes only then.
struct ClaimFolder: Sendable {
    let store: any Store
    private let folder: Descriptor

    static let name = Name(stringLiteral: BackingName.claims)
    private static let question: Name = "lk.claim.ask"
    private static let prefix = "lk.claim."
    /// How many claims stay beside the newest. A process that was stopped before it made one cannot get an epoch again
    /// that others have used since.
    private static let kept: UInt64 = 8
    /// The same of those that were not released: they explain a lock that a store still has of a machine that is gone.
    private static let keptUnreleased: UInt64 = 256
    /// How many claims the list of a store may be behind.
    private static let mostUnlisted = 1024

    /// Makes the folder if there is none.
    init(in store: any Store) throws(Errno) {
        self.store = store
        do throws(Errno) { folder = try Self.open(in: store) } catch {
            guard error == .ENOENT else { throw error }
            do throws(Errno) { try store.makeDirectory(Self.name, in: store.root, mode: 0o700) } catch {
                guard error == .EEXIST else { throw error }
            }
            folder = try Self.open(in: store)
        }
    }

    /// Nil if there is none.
    init?(readingIn store: any Store) throws(Errno) {
        self.store = store
        do throws(Errno) { folder = try Self.open(in: store) } catch .ENOENT { return nil }
    }

    private static func open(in store: any Store) throws(Errno) -> Descriptor {
        try store.open(name, in: store.root, O_RDONLY | O_DIRECTORY, mode: 0)
    }

    /// `lk.claim.` and 16 hexadecimal digits.
    private static func name(of epoch: UInt64) -> Name {
        let digits = String(epoch, radix: 16)
        return Name(bytes: Array((prefix + String(repeating: "0", count: 16 - digits.count) + digits).utf8))!
    }

    private static func epoch(of name: Name) -> UInt64? {
        guard name.bytes.starts(with: prefix.utf8),
            let epoch = UInt64(String(decoding: name.bytes.dropFirst(prefix.utf8.count), as: UTF8.self), radix: 16),
            self.name(of: epoch) == name, epoch <= ClaimRecord.largestEpoch
        else { return nil }
        return epoch
    }

    /// All epochs with a file, in no order.
    func epochs() throws(Errno) -> [UInt64] {
        let fresh = try Self.open(in: store)
        return try store.entries(of: fresh).compactMap { Self.epoch(of: $0.name) }
    }

    /// The highest epoch with a file; 0 if there is none.
    func newestEpoch() throws(Errno) -> UInt64 {
        var epoch = try epochs().max() ?? 0
        // A network store may list a folder as it was some seconds ago. What the list does not have, it looks up.
        // A store that answers for every name must not keep this process for ever.
        for _ in 0..<Self.mostUnlisted {
            guard epoch < ClaimRecord.largestEpoch, try exists(epoch + 1) else { break }
            epoch += 1
        }
        return epoch
    }

    func exists(_ epoch: UInt64) throws(Errno) -> Bool {
        do throws(Errno) { _ = try store.status(of: Self.name(of: epoch), in: folder) } catch .ENOENT { return false }
        return true
    }

    /// The bytes of a claim; nil if it is not there, not whole, or no file.
    func bytes(of epoch: UInt64) throws(Errno) -> [UInt8]? {
        let file: Descriptor
        do throws(Errno) {
            file = try store.open(Self.name(of: epoch), in: folder, O_RDONLY | O_NONBLOCK, mode: 0)
            guard try store.status(of: file).kind == .regular else { return nil }
        } catch {
            switch error {
            // A symbolic link, a socket, a device without a driver.
            case .ENOENT, .ELOOP, .ENXIO, Errno(rawValue: ENODEV): return nil
            default: throw error
            }
        }
        var bytes = [UInt8](repeating: 0, count: ClaimRecord.byteCount)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        guard try store.read(file, into: &span, at: 0) == ClaimRecord.byteCount else { return nil }
        return bytes
    }

    /// Nil if the bytes are not a claim of this epoch.
    static func record(_ bytes: [UInt8]?, epoch: UInt64) -> ClaimRecord? {
        guard let bytes, bytes.count == ClaimRecord.byteCount,
            sha256(Array(bytes.dropLast(32))) == Array(bytes.suffix(32)),
            let record = try? unsafe ClaimRecord(decoding: bytes.span.bytes), record.epoch == epoch
        else { return nil }
        return record
    }

    /// Makes the file of an epoch; EEXIST if another process has.
    func make(_ record: ClaimRecord) throws(Errno) {
        let file = try store.open(
            Self.name(of: record.epoch), in: folder, O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK, mode: 0o600)
        do throws(Errno) {
            try write(record, to: file)
            try store.synchronize(file, dataOnly: false)
        } catch {
            // On a full disk. Others would wait for the holder of a claim that none has.
            try? store.unlink(Self.name(of: record.epoch), in: folder)
            throw error
        }
    }

    /// Writes the claim anew; ENOENT if it is gone.
    func renew(_ record: ClaimRecord) throws(Errno) {
        try write(record, to: try store.open(Self.name(of: record.epoch), in: folder, O_WRONLY | O_NONBLOCK, mode: 0))
    }

    private func write(_ record: ClaimRecord, to file: Descriptor) throws(Errno) {
        let encoded = record.encoded
        let bytes = encoded + sha256(encoded)
        try unsafe store.write(bytes.span.bytes, to: file, at: 0)
    }

    /// Removes what lies far enough before an epoch.
    func removeClaims(before epoch: UInt64) {
        for old in (try? epochs()) ?? [] where old < epoch && epoch - old > Self.kept {
            if epoch - old <= Self.keptUnreleased, mayBeUnreleased(old) { continue }
            try? store.unlink(Self.name(of: old), in: folder)
        }
        removeConflictCopies()
    }

    /// A synchronisation program keeps two claims of one epoch that two machines have made, each in its own copy of the
    /// vault. What it puts aside tells nothing that the other one does not.
    private func removeConflictCopies() {
        guard let fresh = try? Self.open(in: store), let entries = try? store.entries(of: fresh) else { return }
        for entry in entries where entry.kind == .regular && entry.name.bytes.starts(with: Self.prefix.utf8) {
            guard entry.name != Self.question, Self.epoch(of: entry.name) == nil else { continue }
            try? store.unlink(entry.name, in: folder)
        }
    }

    /// Whether the claim was not released, which also one may be that cannot be read now.
    private func mayBeUnreleased(_ epoch: UInt64) -> Bool {
        do throws(Errno) {
            guard let record = Self.record(try bytes(of: epoch), epoch: epoch) else { return false }
            return record.state != .released
        } catch { return true }
    }

    /// Asks the holder to renew its claim, which it may do only then.
    func ask() throws(Errno) {
        let flags = O_WRONLY | O_CREAT | O_NONBLOCK
        do throws(Errno) { _ = try store.open(Self.question, in: folder, flags, mode: 0o600) } catch .ENOENT {
            // A network store's client may still know the name of a question that the holder has removed since, and
            // opens it instead of making it. It forgets the name by a removal.
            endQuestion()
            _ = try store.open(Self.question, in: folder, flags, mode: 0o600)
        }
    }

    func isAsked() throws(Errno) -> Bool {
        do throws(Errno) { _ = try store.status(of: Self.question, in: folder) } catch .ENOENT { return false }
        return true
    }

    func endQuestion() { try? store.unlink(Self.question, in: folder) }
}
