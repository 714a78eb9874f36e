public import Crypto
public import Format
public import Posix

/// What a machine remembers of a vault's files, in a file beside a backup of the keybag: docs/FORMAT.md, "A keybag's
/// backup".
public enum MarkBackup {
    /// The suffix that makes its name out of that of the backup.
    public static let suffix = ".marks"

    /// Writes a new file of mode 0600, durably.
    ///
    /// - Parameters:
    ///   - path: of no other file, and of none that another program is writing.
    ///   - cipher: keyed for the backup's marks.
    public static func write(
        _ table: MarkTable, to path: Path, volume: VolumeIdentifier, cipher: DeterministicCipher
    ) throws(Errno) {
        try MarkFile.write(table, to: path, volume: volume, cipher: cipher)
    }

    /// Nil if the file is another volume's or of another key, damaged, or cut within a batch.
    public static func read(
        _ path: Path, volume: VolumeIdentifier, cipher: DeterministicCipher
    ) throws(Errno) -> MarkTable? {
        var table = MarkTable()
        let isWhole = try MarkFile.readWhole(path, volume: volume, cipher: cipher, most: Marks.mostRecords) {
            table.take($0, most: Marks.most)
        }
        return isWhole ? table : nil
    }
}
