import Posix

/// Reads a journal in large pieces: a journal has thousands of records, and on a store that a network lies before each
/// read takes milliseconds.
///
/// For one thread. The journal does not change meanwhile.
final class JournalWindow {
    private static let size = 1 << 20

    private let file: Descriptor
    private let vault: Vault
    private var start: Int64 = 0
    private var bytes: [UInt8] = []

    init(of file: Descriptor, _ vault: Vault) {
        self.file = file
        self.vault = vault
    }

    /// As many bytes as there are, at most `count`.
    func read(_ count: Int, at offset: Int64) throws(VaultError) -> [UInt8] {
        if offset < start || offset + Int64(count) > start + Int64(bytes.count) {
            bytes = try RecoveryJournal.read(max(count, Self.size), at: offset, of: file, vault)
            start = offset
        }
        let first = Int(offset - start)
        return Array(bytes[first..<min(first + count, bytes.count)])
    }
}
