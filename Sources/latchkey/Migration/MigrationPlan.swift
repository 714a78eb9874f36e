import Administration
import Crypto
import Glibc
import Migration
import Posix
import Store

/// What a migration will take, said before it begins.
struct MigrationPlan {
    let survey: Survey
    /// Bytes that must be free, and that are.
    let needed: UInt64
    let free: UInt64
    let seconds: Double

    /// - Parameters:
    ///   - folder: where the space is needed.
    ///   - holdsBoth: whether the originals are kept, or lie in another file system than the copies.
    init(_ survey: Survey, in folder: Path, holdsBoth: Bool, _ options: MigrationOptions) throws(CommandError) {
        self.survey = survey
        let entries = UInt64(survey.files + survey.others + survey.folders)
        let bytes = UInt64(max(0, survey.bytes))
        // A header of 512 bytes, which may take a block more; 32 bytes for each block of 4096.
        let overhead = bytes / 100 + entries * 4608 + 64 << 20
        let batch = min(UInt64(options.batchBytes) * 2, bytes)
        let copies = holdsBoth ? bytes : max(UInt64(max(0, survey.largest)), batch)
        needed = copies > UInt64.max - overhead ? .max : overhead + copies
        do throws(Errno) {
            let statistics = try Descriptor.open(path: folder, O_RDONLY | O_DIRECTORY).fileSystemStatistics()
            free = statistics.availableBlocks &* statistics.fragmentSize
        } catch { throw CommandError(cannot: "look at the space of", folder, error) }
        seconds = 2 + Double(entries) * 0.0006 + Double(bytes) / Self.rate(in: folder)
    }

    /// Bytes in a second: a file is read, encrypted, written, and read back.
    private static func rate(in folder: Path) -> Double {
        let usual = 100e6
        let size = 16 << 20
        let name = folder.asFolder + ".latchkey-speed.\(getpid())"
        guard let file = try? Descriptor.open(path: name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600) else { return usual }
        // At once: a kill leaves nothing.
        _ = name.unlink()
        // Not zeros, which some file systems store without writing them.
        let bytes = Random.bytes(size)
        let clock = ContinuousClock()
        let start = clock.now
        guard (try? unsafe file.write(bytes.span.bytes)) != nil, (try? file.synchronize(dataOnly: true)) != nil else {
            return usual
        }
        let seconds = max((clock.now - start) / .seconds(1), 0.001)
        return min(max(Double(size) / seconds / 2.5, 1e6), 1e9)
    }

    /// Throws if there is not enough space.
    func refuse() throws(CommandError) {
        guard free < needed else { return }
        throw CommandError(
            .failed,
            "there is not enough space: \(Amount.bytes(needed)) must be free, and \(Amount.bytes(free)) are",
            try: "the same again, after something else was removed")
    }

    /// Throws for what cannot be moved, with the first entries of each kind.
    func refuseFindings(of folder: Path) throws(CommandError) {
        let hindrances = survey.findings.compactMap { path, finding -> Printable? in
            switch finding {
            case .mountPoint: "\(path): another file system is mounted there"
            case .unreadable(let error): "\(path): cannot be read: \(error)"
            case .otherOwner(let user): "\(path): belongs to another user, \(user)"
            case .otherGroup(let group): "\(path): belongs to a group that you are not in, \(group)"
            case .vault: "\(path): is a vault"
            case .linkedOutside: nil
            }
        }
        guard !hindrances.isEmpty else { return }
        for line in hindrances.prefix(10) { Standard.error("latchkey: \(line)") }
        let others = hindrances.count > 10 ? ", the first 10 of \(Amount.count(hindrances.count))" : ""
        throw CommandError(
            .failed, "\(folder) cannot be moved as it is: the lines above say why\(others)",
            try: "mv those elsewhere, and the same again",
            "sudo latchkey protect \(folder.quoted)   (if they belong to other users)")
    }

    /// What stays readable where it is.
    var warnings: [Printable] {
        survey.findings.compactMap { path, finding in
            guard case .linkedOutside(let count) = finding else { return nil }
            return
                "\(path) has \(Amount.of(Int(clamping: count), "other name")) outside of the folder: it stays readable there"
        }
    }

    /// The files with other names outside of the folder.
    var linkedOutside: [Path] {
        survey.findings.compactMap { path, finding in if case .linkedOutside = finding { path } else { nil } }
    }

    /// As "12,345 files in 678 folders, 9.1 GiB; about 3 min".
    var text: Printable {
        """
        \(Amount.of(survey.files + survey.others, "file")) in \(Amount.of(survey.folders, "folder")), \
        \(Amount.bytes(UInt64(max(0, survey.bytes)))); about \(Amount.time(seconds)). It needs \
        \(Amount.bytes(needed)) of space, of \(Amount.bytes(free)).
        """
    }
}
