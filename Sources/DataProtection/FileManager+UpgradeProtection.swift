import Foundation
internal import Glibc
internal import Posix

/// The result of `FileManager.upgradeProtection(in:)`.
public struct ProtectionUpgrade: Sendable {
    /// The files that are now of class `complete`.
    public var upgraded: [URL] = []
    /// The files and folders that failed for other reasons than the lock; the next call tries them again.
    public var failures: [URL: DataProtectionError] = [:]
}

extension FileManager {
    /// Raises to `complete` all files in a folder and its subfolders that `Data.writeWithBestProtection(to:)` had to
    /// write with a weaker class.
    ///
    /// Files that have been given another class since keep it. A repeated or interrupted call does no harm: each file
    /// is raised first, then its mark is removed. Symbolic links and other mounts are not followed. A file's contents
    /// keep their key, which the weaker class has wrapped before; `latchkey class set --rekey` gives them another.
    ///
    /// Throws `locked` once the class is locked, `mountEnded`, `notProtected` outside of Latchkey mounts, and
    /// `CancellationError` in a cancelled task; files raised until then stay so.
    @discardableResult
    public func upgradeProtection(in folder: URL) throws -> ProtectionUpgrade {
        let path = try folder.protectedPath
        guard let item = try ProtectedItem(path: path), item.status.kind == .directory else {
            throw DataProtectionError.notProtected(path: path)
        }
        var walk = UpgradeWalk(device: item.status.device)
        try walk.visit(item.file, at: folder)
        return walk.result
    }
}

/// Only by descriptors: if a folder is moved or replaced meanwhile, the walk stays in the original one.
private struct UpgradeWalk {
    let device: UInt64
    var result = ProtectionUpgrade()

    mutating func visit(_ folder: Descriptor, at url: URL) throws {
        var names: [Name] = []
        do {
            names = try folder.entries().map(\.name).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        } catch {
            try note(error, at: url)
        }
        for name in names where !name.bytes.starts(with: StagedFile.prefix.utf8) {
            try Task.checkCancellation()
            let url = url.appendingPathComponent(name.description)
            var found: (file: Descriptor, isFolder: Bool)?
            do {
                found = try look(at: name, in: folder)
                if let found, !found.isFolder, try raise(found.file) { result.upgraded.append(url) }
            } catch {
                try note(error, at: url)
            }
            if let found, found.isFolder { try visit(found.file, at: url) }
        }
    }

    /// Nil unless it is a file or a folder of this mount.
    private func look(at name: Name, in folder: Descriptor) throws(Errno) -> (file: Descriptor, isFolder: Bool)? {
        let file = try folder.open(name, O_PATH)
        let status = try file.status()
        guard status.device == device else { return nil }
        switch status.kind {
        case .regular: return (file, false)
        case .directory: return (file, true)
        default: return nil
        }
    }

    /// False for a file that needs no change.
    private func raise(_ file: Descriptor) throws(Errno) -> Bool {
        guard try UpgradeMark.isOn(file) else { return false }
        let isWeak = try file.protection() == .completeUntilFirstUserAuthentication
        if isWeak { try file.setProtection(Array("complete".utf8)) }
        // A crash between these two leaves a mark, which the next call removes.
        try UpgradeMark.remove(from: file)
        return isWeak
    }

    /// The lock ends the walk, because all later files would fail too. A file that has been removed meanwhile is no
    /// error.
    private mutating func note(_ error: Errno, at url: URL) throws(DataProtectionError) {
        guard error != .ENOENT else { return }
        let error = DataProtectionError(error, at: url.path)
        switch error {
        case .locked, .mountEnded: throw error
        default: result.failures[url] = error
        }
    }
}
