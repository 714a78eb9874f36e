import Crypto
import Format
import Glibc
import Posix

/// How often a wrong passcode has been given on this machine, in a file beside the device key.
///
/// A try is counted before it is made, durably: whoever pulls the plug does not win one. From the fifth on the next try has
/// to wait. It stops somebody at the keyboard; whoever can read the files has the device key and does not ask.
///
/// docs/FORMAT.md, "The guess counter". Two processes at once wait for each other.
struct GuessCounter: Sendable {
    static let byteCount = 40
    /// Of its name, which begins as the device key file's.
    static let suffix = ".tries"
    private static let magic = Array("LKTRIES1".utf8)

    let path: String
    let volume: VolumeIdentifier

    init(besideDeviceKey path: String, volume: VolumeIdentifier) {
        self.path = path + Self.suffix
        self.volume = volume
    }

    /// What the file says.
    struct Record: Hashable, Sendable {
        /// Wrong ones since the last right one; one that is being tried counts.
        var wrong: UInt32 = 0
        /// When the last one was tried, in seconds since 1970.
        var last: UInt64 = 0
        /// Of the last wrong one, whose Argon2 derivation yields it: enough to tell that the same one comes again, and too
        /// little to confirm what it was.
        var fingerprint: UInt16 = 0
    }

    /// Seconds from the last of so many wrong ones until the next may be tried.
    static func delay(after wrong: UInt32) -> UInt64 {
        switch wrong {
        case 0...4: 0
        case 5: 60
        case 6: 5 * 60
        case 7, 8: 15 * 60
        default: 60 * 60
        }
    }

    /// Seconds that a try has to wait; 0 for none. A clock that was set back starts the delay anew.
    static func wait(_ record: Record, now: UInt64) -> UInt64 {
        let delay = delay(after: record.wrong)
        guard delay > 0 else { return 0 }
        guard now >= record.last else { return delay }
        return delay - min(delay, now - record.last)
    }

    /// Runs `body`, which tries a passcode. It is counted before that, and not counted after all if it was right, or the same
    /// as the last wrong one, or could not be tried.
    ///
    /// - Parameters:
    ///   - limit: of wrong ones in a row; 0 for none.
    ///   - body: gets the fingerprint of the last wrong one, and leaves that of this one.
    /// - Throws: `tooManyGuesses` and `noMoreGuesses`, and then nothing was tried; `erased` when this was the last wrong one
    ///   that there may be: the caller has to see to it.
    func counted<Result: ~Copyable>(
        upTo limit: UInt8 = 0, _ body: (inout UInt16) throws(KeybagError) -> Result
    ) throws(KeybagError) -> Result {
        try locked { (before, write) throws(KeybagError) in
            let now = UInt64(max(time(nil), 0))
            let wait = Self.wait(before, now: now)
            guard wait == 0 else { throw .tooManyGuesses(seconds: wait) }
            // A try at the limit never ended: whoever cuts the power in time is not to have another, and whoever had the
            // right passcode, and bad luck, is not to lose all.
            guard limit == 0 || before.wrong < limit else { throw .noMoreGuesses }
            try write(Record(wrong: before.wrong &+ 1, last: now, fingerprint: before.fingerprint))
            var fingerprint: UInt16 = 0
            do throws(KeybagError) {
                let result = try body(&fingerprint)
                try write(Record())
                return result
            } catch {
                guard case .wrong = error else {
                    try write(before)
                    throw error
                }
                let isSame = before.wrong > 0 && fingerprint == before.fingerprint
                if isSame {
                    try write(before)
                    throw error
                }
                let wrong = before.wrong &+ 1
                try write(Record(wrong: wrong, last: now, fingerprint: fingerprint))
                throw limit > 0 && wrong >= limit ? .erased : error
            }
        }
    }

    /// Counts from nothing, whatever was counted for a device key of before.
    func begin() throws(KeybagError) {
        try locked { (_, write) throws(KeybagError) in try write(Record()) }
    }

    /// Something else has opened the vault: the wrong passcodes are forgotten.
    func forget() throws(KeybagError) {
        guard (try? Descriptor.open(path: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)) != nil else { return }
        try locked { (before, write) throws(KeybagError) in
            if before != Record() { try write(Record()) }
        }
    }

    /// The device key file beside which it counts.
    var deviceKeyPath: String { String(path.dropLast(Self.suffix.count)) }

    // MARK: The file

    /// Runs `body` with what the file says, and a way to change that; it stays locked meanwhile. Where the place can only be
    /// read nothing is counted.
    private func locked<Result: ~Copyable>(
        _ body: (Record, (Record) throws(KeybagError) -> Void) throws(KeybagError) -> Result
    ) throws(KeybagError) -> Result {
        let doing = "counting guesses in \(path)"
        guard let file = try open() else {
            return try body(Record()) { (_) throws(KeybagError) in }
        }
        try io(doing, try file.waitForLock())
        return try body(try read(file)) { (record) throws(KeybagError) in try io(doing, try write(record, to: file)) }
    }

    private func open() throws(KeybagError) -> Descriptor? {
        do throws(Errno) {
            return try Descriptor.open(path: path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW, mode: 0o600)
        } catch {
            // A device key on a medium that cannot be written to: the vault opens all the same.
            guard error == .EROFS || error == .ENOENT else { throw .io(error, doing: "opening \(path)") }
            return nil
        }
    }

    /// A file that is not one of ours, or another vault's, counts as nothing.
    private func read(_ file: Descriptor) throws(KeybagError) -> Record {
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        let count: Int
        do throws(Errno) {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try file.read(into: &span, at: 0)
        } catch { throw .io(error, doing: "reading \(path)") }
        guard count == Self.byteCount, Array(bytes[0..<8]) == Self.magic, Array(bytes[8..<24]) == volume.bytes else {
            return Record()
        }
        func number(_ range: Range<Int>) -> UInt64 { bytes[range].reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        return Record(
            wrong: UInt32(truncatingIfNeeded: number(24..<28)), last: number(32..<40),
            fingerprint: UInt16(truncatingIfNeeded: number(28..<30)))
    }

    private func write(_ record: Record, to file: Descriptor) throws(Errno) {
        var bytes = Self.magic + volume.bytes
        func append(_ value: UInt64, _ count: Int) {
            for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
        }
        append(UInt64(record.wrong), 4)
        append(UInt64(record.fingerprint), 4)
        append(record.last, 8)
        // In place, in one sector: a full disk does not keep anybody from unlocking.
        try unsafe file.write(bytes.span.bytes, at: 0)
        try file.synchronize(dataOnly: true)
    }
}
