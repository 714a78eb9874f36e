import Crypto
import Failure
import Format
import Glibc
import Posix

/// How often a wrong passcode has been given on this machine, in a file beside the device key.
///
/// A try is counted before it is made, durably: whoever pulls the plug does not win one. From the fifth on the next try
/// has to wait. It stops somebody at the keyboard; whoever can read the files has the device key and does not ask.
///
/// docs/FORMAT.md, "The guess counter". Two processes at once wait for each other.
struct GuessCounter: Sendable {
    static let byteCount = 40
    /// Of its name, which begins as the device key file's.
    static let suffix = ".tries"
    private static let magic = Array("LKTRIES1".utf8)
    /// As a number of wrong ones: the keys were destroyed after the last.
    static let erased = UInt32.max
    private static let most = erased - 1
    /// How long another try is waited for: many at once, each with its Argon2.
    private static let patience = Duration.seconds(60)

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
        /// Of the last wrong one, whose Argon2 derivation yields it: enough to tell that the same one comes again, and
        /// too little to confirm what it was. 0 for none.
        var fingerprint: UInt16 = 0

        /// The same as far as a chip's count of wrong passcodes leaves it: bits made from one would let it be guessed
        /// past that.
        func without(fingerprint isLeftOut: Bool) -> Record {
            isLeftOut ? Record(wrong: wrong, last: last) : self
        }
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

    /// Runs `body`, which tries a passcode. It is counted before that, and not counted after all if it was right, or
    /// the same as the last wrong one, or could not be tried.
    ///
    /// - Parameters:
    ///   - limit: of wrong ones in a row; 0 for none.
    ///   - mayBeLast: it is tried also if the keys are to be destroyed should it be wrong.
    ///   - isGuarded: a chip counts wrong ones as well: nothing that is made from one is kept, and the same one again
    ///     counts.
    ///   - erase: destroys the keys, after the last wrong one that there may be; what it could not is its result.
    ///   - body: gets the fingerprint of the last wrong one, and leaves that of this one.
    /// - Throws: `tooManyGuesses`, `noMoreGuesses` and `lastGuess`, and then nothing was tried; `erased` when this was
    ///   the last wrong one that there may be, or another process has had it: the keys in memory are to go as well.
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
                // A clock that was set back: the delay begins anew, once. Else one that was years ahead for a moment
                // would keep everybody out until then.
                if now < before.last {
                    try write(Record(wrong: before.wrong, last: now, fingerprint: before.fingerprint))
                }
                throw .tooManyGuesses(seconds: Int(clamping: wait))
            }
            // A try at the limit never ended: whoever cuts the power in time is not to have another, and whoever had
            // the right passcode, and bad luck, is not to lose all.
            guard limit == 0 || before.wrong < limit else { throw .noMoreGuesses }
            // Here, where no other process counts meanwhile.
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
                // Last: until then no passcode is tried any more. Another daemon with these keys in memory reads it.
                try? write(Record(wrong: Self.erased, last: now))
                throw .erased(limit: Int(limit), reason: reason)
            }
        }
    }

    /// How many wrong ones there may still be; nil where there is no limit.
    static func left(after record: Record, of limit: UInt8) -> Guesses? {
        limit == 0 ? nil : Guesses(left: Int(limit) - Int(min(record.wrong, UInt32(limit))), limit: Int(limit))
    }

    /// The same as the file says it now, while nobody is waited for. Where there can be no such file nothing is
    /// counted, and all are left.
    func left(of limit: UInt8) -> Guesses? {
        guard limit > 0 else { return nil }
        let flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW
        guard let file = try? Descriptor.open(path: path, flags), Self.isRegular(file), let record = try? read(file)
        else { return Self.left(after: Record(), of: limit) }
        return Self.left(after: record, of: limit)
    }

    /// Counts from nothing, whatever was counted for a device key of before.
    func begin() throws(Failure) {
        try locked { (_, write) throws(Failure) in try write(Record()) }
    }

    /// Something else has opened the vault: the wrong passcodes are forgotten. Not while one is tried: who gives a key
    /// is not to wait for that.
    func forget() throws(Failure) {
        guard let file = try? Descriptor.open(path: path, O_RDWR | O_NONBLOCK | O_NOFOLLOW), Self.isRegular(file),
            (try? file.lockExclusively()) != nil
        else { return }
        if try read(file) != Record() { try io(doing, try write(Record(), to: file)) }
    }

    /// The device key file beside which it counts.
    var deviceKeyPath: String { String(path.dropLast(Self.suffix.count)) }

    // MARK: The file

    private var doing: String { "counting guesses in \(path)" }

    /// Runs `body` with what the file says, and a way to change that; it stays locked meanwhile. Where there can be no
    /// such file nothing is counted.
    private func locked<Result: ~Copyable>(
        _ body: (Record, (Record) throws(Failure) -> Void) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let file = try open() else {
            return try body(Record()) { (_) throws(Failure) in }
        }
        try waitForLock(file)
        return try body(try read(file)) { (record) throws(Failure) in try io(doing, try write(record, to: file)) }
    }

    /// Waits until no other process tries a passcode; not for ever: one of them may have been stopped.
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

    /// Nil where it cannot be: the vault opens all the same. Whoever can bring that about could as well remove the
    /// file.
    private func open() throws(Failure) -> Descriptor? {
        do throws(Errno) {
            let flags = O_RDWR | O_NONBLOCK | O_NOFOLLOW
            let file: Descriptor
            do throws(Errno) { file = try Descriptor.open(path: path, flags) } catch {
                guard error == .ENOENT else { throw error }
                file = try Descriptor.open(path: path, flags | O_CREAT, mode: 0o600)
                // Else a power loss takes the count back.
                let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
                try? Descriptor.open(path: folder, O_RDONLY | O_DIRECTORY).synchronize(dataOnly: false)
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

    /// A file that is not one of ours, or another vault's, counts as nothing.
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
        // In place, in one sector: a full disk does not keep anybody from unlocking.
        try unsafe file.write(bytes.span.bytes, at: 0)
        try file.synchronize(dataOnly: true)
    }
}
