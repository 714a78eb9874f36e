import Foundation

extension Data {
    /// Writes the bytes to a file that has its protection class before the first of them, and makes them durable.
    ///
    /// Atomic: whoever looks sees the old file or the new one, which keeps the old one's permissions. The class is the one
    /// asked for, whatever that of the folder or of a file that is replaced; other extended attributes are not kept. A
    /// symbolic link at the URL stays, and the file that it leads to is replaced.
    ///
    /// Throws `notProtected`, and writes nothing, where no Latchkey mount is; `locked` while files of the class cannot be
    /// made. Blocks until the bytes are on the disk.
    public func write(to url: URL, protection: FileProtectionType) throws {
        try AtomicSave(to: url).write(self, protection)
    }

    /// Writes the bytes to a file of class `complete`; while that is locked, to one of class
    /// `completeUntilFirstUserAuthentication`, marked so that `FileManager.upgradeProtection(in:)` raises it later.
    ///
    /// For what must be on the disk at once, and better weakly protected than not at all; `ProtectedDataBuffer` is for the
    /// rest. Otherwise as `write(to:protection:)`; before the first unlock this throws `locked` too.
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
