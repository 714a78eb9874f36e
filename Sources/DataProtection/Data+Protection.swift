import Foundation

extension Data {
    /// Writes the bytes to a file that has its protection class before its first byte, and makes them durable.
    ///
    /// Atomic: a reader sees either the old file or the new one, which keeps the old one's permissions. The class is
    /// always the given one, independent of the folder and of a replaced file; other extended attributes are not kept.
    /// A symbolic link at the URL stays, and its target is replaced.
    ///
    /// Throws `notProtected` and writes nothing if there is no Latchkey mount; `locked` while files of the class cannot
    /// be created. Blocks until the bytes are on the disk.
    public func write(to url: URL, protection: FileProtectionType) throws {
        try AtomicSave(to: url).write(self, protection)
    }

    /// Writes the bytes to a file of class `complete`; while that is locked, to one of class
    /// `completeUntilFirstUserAuthentication`, marked so that `FileManager.upgradeProtection(in:)` raises it later.
    ///
    /// For data that must be on the disk at once, even with weak protection; use `ProtectedDataBuffer` for other data.
    /// In all else as `write(to:protection:)`; before the first unlock this throws `locked` too.
    ///
    /// - Returns: the class that the file has.
    @discardableResult
    public func writeWithBestProtection(to url: URL) throws -> FileProtectionType {
        let save = try AtomicSave(to: url)
        do throws(DataProtectionError) {
            try save.write(self, .complete)
            return .complete
        } catch .locked {
            try save.write(self, .completeUntilFirstUserAuthentication, mark: true)
            return .completeUntilFirstUserAuthentication
        }
    }
}
