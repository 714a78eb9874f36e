import Crypto
import Failure
import Format
import Glibc
import Posix

/// The count of wrong passcodes on this machine, in a file beside the device key.
///
/// A try is counted durably before it is made, so an attacker gains none by a power loss. From the fifth on, the
/// next try has to wait. This stops an attacker at the keyboard only: one who can read the files has the device key.
///
/// docs/FORMAT.md, "The guess counter". Processes take turns by flock(2) on the file. Lock order: docs/ARCHITECTURE.md.
struct GuessCounter: Sendable {
    static let byteCount = 40
    /// The suffix that makes its name out of the device key file's name.
    static let suffix = ".tries"
    private static let magic = Array("LKTRIES1".utf8)
    /// A value of `wrong`: the keys were destroyed after the last allowed guess.
    static let erased = UInt32.max
    private static let most = erased - 1
    /// How long a process waits for the tries of others, each of which takes one Argon2 derivation.
    private static let patience = Duration.seconds(60)

    let path: Path
    let volume: VolumeIdentifier

    init(besideDeviceKey path: Path, volume: VolumeIdentifier) {
        self.path = path + Self.suffix
        self.volume = volume
    }

    /// What the file holds.
    struct Record: Hashable, Sendable {
        /// Wrong passcodes since the last right one; a try under way is included.
        var wrong: UInt32 = 0
        /// When the last try was made, in seconds since 1970.
        var last: UInt64 = 0
        /// 16 bits of the Argon2 output of the last wrong passcode: enough to recognise the same one again, too few to
        /// confirm a guess of it. 0 for none.
        var fingerprint: UInt16 = 0

        /// The record without the fingerprint if a chip counts too: bits that depend on a passcode would allow guesses
        /// that the chip does not count.
        func without(fingerprint isLeftOut: Bool) -> Record {
            isLeftOut ? Record(wrong: wrong, last: last) : self
        }
    }

    /// Seconds to wait after the last of `wrong` wrong passcodes until the next try.
    static func delay(after wrong: UInt32) -> UInt64 {
        switch wrong {
        case 0...4: 0
        case 5: 60
        case 6: 5 * 60
        case 7, 8: 15 * 60
        default: 60 * 60
        }
    }

    /// Seconds until the next try; 0 for none. If the clock was set back, the delay starts again.
    static func wait(_ record: Record, now: UInt64) -> UInt64 {
        let delay = delay(after: record.wrong)
        guard delay > 0 else { return 0 }
        guard now >= record.last else { return delay }
        return delay - min(delay, now - record.last)
    }

    /// Runs `body`, which tries a passcode, and counts it beforehand. The count is taken back if the passcode is right,
    /// is the same as the last wrong one, or cannot be tried.
    ///
    /// - Parameters:
    ///   - limit: how many wrong passcodes in a row are allowed; 0 for no limit.
    ///   - mayBeLast: makes the try also if a wrong passcode would destroy the keys.
    ///   - isGuarded: a chip counts too. Then no fingerprint is stored, and the same wrong passcode counts again.
    ///   - erase: destroys the keys after the last allowed guess; returns what it could not destroy, or nil.
    ///   - body: sets its argument to the fingerprint of a wrong passcode.
    /// - Throws: `tooManyGuesses`, `noMoreGuesses` or `lastGuess` if nothing was tried; `erased` if this was the last
    ///   allowed guess, or if another process has made that: the caller then wipes the keys in memory as well.
    func counted<Result: ~Copyable>(
        upTo limit: UInt8 = 0, mayBeLast: Bool = false, isGuarded: Bool = false, erase: () -> String? = { nil },
        _ body: (inout UInt16) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try locked { (found, write) throws(Failure) in
            let before = found.without(fingerprint: isGuarded)
            guard before.wrong != Self.erased else { throw .erased(reason: nil) }
            let now = UInt64(max(time(nil), 0))
            let wait = Self.wait(before, now: now)
            guard wait == 0 else {
                // If the clock was set back, the delay starts again, once. Without that, a clock that was years ahead
                // for a moment would keep the owner out for years.
                if now < before.last {
                    try write(Record(wrong: before.wrong, last: now, fingerprint: before.fingerprint))
                }
                throw .tooManyGuesses(seconds: Int(clamping: wait))
            }
            // A try at the limit was interrupted. An attacker who causes a power loss in time gets no other try, and an
            // owner with the right passcode must not lose the keys to a crash.
            guard limit == 0 || before.wrong < limit else { throw .noMoreGuesses }
            // Checked under the lock: no other process counts at this time.
            guard limit == 0 || before.wrong + 1 < limit || mayBeLast else { throw .lastGuess(limit: Int(limit)) }
            try write(Record(wrong: min(before.wrong + 1, Self.most), last: now, fingerprint: before.fingerprint))
            var fingerprint: UInt16 = 0
            do throws(Failure) {
                let result = try body(&fingerprint)
                try write(Record())
                return result
            } catch {
                guard let kind = error.wrongKind else {
                    try write(before)
                    throw error
                }
                let isSame = before.wrong > 0 && before.fingerprint != 0 && fingerprint == before.fingerprint
                if isSame {
                    try write(before)
                    throw .wrong(kind, left(of: limit))
                }
                let wrong = min(before.wrong + 1, Self.most)
                let counted = Record(wrong: wrong, last: now, fingerprint: fingerprint)
                try write(counted.without(fingerprint: isGuarded))
                guard limit > 0, wrong >= limit else { throw .wrong(kind, left(of: limit)) }
                let reason = erase()
                // Last: until then the lock keeps out all tries. Another daemon with these keys in memory reads the
                // record.
                try? write(Record(wrong: Self.erased, last: now))
                throw .erased(limit: Int(limit), reason: reason)
            }
        }
    }

    /// How many wrong passcodes are still allowed; nil without a limit.
    static func left(after record: Record, of limit: UInt8) -> Guesses? {
        limit == 0 ? nil : Guesses(left: Int(limit) - Int(min(record.wrong, UInt32(limit))), limit: Int(limit))
    }

    /// The same from the file, without waiting for its lock. If the file cannot be made, nothing is counted and all
    /// guesses are left.
    func left(of limit: UInt8) -> Guesses? {
        guard limit > 0 else { return nil }
        let flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW
        guard let file = try? Descriptor.open(path: path, flags), Self.isRegular(file), let record = try? read(file)
        else { return Self.left(after: Record(), of: limit) }
        return Self.left(after: record, of: limit)
    }

    /// Seconds until the next try; nil for none, or while another process tries a passcode.
    var delay: Int? {
        let flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW
        // Under the lock: a try under way is in the count already.
        guard let file = try? Descriptor.open(path: path, flags), Self.isRegular(file),
            (try? file.lockExclusively()) != nil, let record = try? read(file), record.wrong != Self.erased
        else { return nil }
        let wait = Self.wait(record, now: UInt64(max(time(nil), 0)))
        return wait == 0 ? nil : Int(clamping: wait)
    }

    /// Wrong passcodes since the last right one; `UInt32.max` after the last allowed guess. Throws EWOULDBLOCK while
    /// another process tries one.
    func wrong() throws(Errno) -> Int {
        let file: Descriptor
        do throws(Errno) { file = try Descriptor.open(path: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) } catch {
            guard error == .ENOENT else { throw error }
            return 0
        }
        guard Self.isRegular(file) else { return 0 }
        try file.lockExclusively()
        do throws(Failure) { return Int(try read(file).wrong) } catch { throw .EIO }
    }

    /// Starts the count at zero, whatever was counted for an earlier device key.
    func begin() throws(Failure) {
        try locked { (_, write) throws(Failure) in try write(Record()) }
    }

    /// Resets the count after another credential has opened the vault. If a try is under way, the count stays: the
    /// holder of a key must not wait for it.
    func forget() throws(Failure) {
        guard let file = try? Descriptor.open(path: path, O_RDWR | O_NONBLOCK | O_NOFOLLOW), Self.isRegular(file),
            (try? file.lockExclusively()) != nil
        else { return }
        if try read(file) != Record() { try io(doing, try write(Record(), to: file)) }
    }

    /// The device key file that the counter belongs to.
    var deviceKeyPath: Path { Path(bytes: path.bytes.dropLast(Self.suffix.utf8.count)) }

    // MARK: The file

    private var doing: Printable { "counting guesses in \(path)" }

    /// Runs `body` with the file's record and a function that writes it; the file stays locked until `body` returns. If
    /// the file cannot be made, nothing is counted.
    private func locked<Result: ~Copyable>(
        _ body: (Record, (Record) throws(Failure) -> Void) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let file = try open() else {
            return try body(Record()) { (_) throws(Failure) in }
        }
        try waitForLock(file)
        return try body(try read(file)) { (record) throws(Failure) in try io(doing, try write(record, to: file)) }
    }

    /// Waits until no other process tries a passcode, up to `patience`: the other process may have been stopped.
    private func waitForLock(_ file: Descriptor) throws(Failure) {
        let clock = ContinuousClock()
        let end = clock.now + Self.patience
        while true {
            do throws(Errno) { return try file.lockExclusively() } catch {
                guard error == .EWOULDBLOCK, clock.now < end else { throw .io(error, doing: doing) }
                _ = usleep(20_000)
            }
        }
    }

    /// Nil if the file cannot be made; the vault still opens. An attacker who can cause that could as well remove the
    /// file.
    private func open() throws(Failure) -> Descriptor? {
        do throws(Errno) {
            let flags = O_RDWR | O_NONBLOCK | O_NOFOLLOW
            let file: Descriptor
            do throws(Errno) { file = try Descriptor.open(path: path, flags) } catch {
                guard error == .ENOENT else { throw error }
                file = try Descriptor.open(path: path, flags | O_CREAT, mode: 0o600)
                // Without this flush, a power loss resets the count.
                try? Descriptor.open(path: path.split.folder, O_RDONLY | O_DIRECTORY).synchronize(dataOnly: false)
            }
            return Self.isRegular(file) ? file : nil
        } catch {
            let cannotBe: [Errno] = [
                .EROFS, .ENOENT, .ENOTDIR, .EACCES, .EPERM, .ELOOP, .EISDIR, .ENXIO, .ENAMETOOLONG, .ENOSPC, .EDQUOT,
            ]
            guard cannotBe.contains(error) else { throw .io(error, doing: "opening \(path)") }
            return nil
        }
    }

    private static func isRegular(_ file: Descriptor) -> Bool { (try? file.status().kind) == .regular }

    /// A file with other contents, or of another vault, counts as zero.
    private func read(_ file: Descriptor) throws(Failure) -> Record {
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
        // In place, within one sector: a full disk does not prevent an unlock.
        try unsafe file.write(bytes.span.bytes, at: 0)
        try file.synchronize(dataOnly: true)
    }
}
