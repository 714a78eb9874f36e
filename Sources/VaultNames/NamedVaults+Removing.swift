import Glibc
import Posix
import TOML

extension NamedVaults {
    /// Takes the table of a vault out of the user's configuration, durably. What else is in the file stays as it is,
    /// byte by byte. Nothing is done if there is no such table.
    public static func remove(_ name: VaultName, _ folders: UserFolders = UserFolders()) throws(NamedVaultsError) {
        let path = folders.namedVaults
        let folder: Descriptor
        do throws(Errno) { folder = try Descriptor.open(path: folders.configuration, O_RDONLY | O_DIRECTORY) } catch {
            if error == .ENOENT { return }
            throw NamedVaultsError(path, "it cannot be written: \(error)")
        }
        try writing(path) { () throws(Errno) in try folder.waitForLock() }
        defer { withExtendedLifetime(folder) {} }
        let old: String?
        do { old = try TrustedFile.text(of: path) } catch {
            throw NamedVaultsError(path, line: error.line, error.problem)
        }
        guard let old else { return }
        let new = try text(old, without: name, path: path, folders)
        guard new != old else { return }
        try writing(path) { () throws(Errno) in try replace(path, with: new) }
    }

    /// The text without the table of a vault. Comments and empty lines before the next table stay: they belong to that.
    public static func text(
        _ old: String, without name: VaultName, path: String, _ folders: UserFolders
    ) throws(NamedVaultsError) -> String {
        guard let vault = try NamedVaults(parsing: old, path: path, folders)[name.text] else { return old }
        // By bytes: CR and LF are one character.
        var lines = old.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        let first = vault.line - 1
        func isHeader(_ line: [UInt8]) -> Bool { line.first { $0 != 0x20 && $0 != 0x09 } == UInt8(ascii: "[") }
        func isKept(_ line: [UInt8]) -> Bool {
            let start = line.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0d }
            return start == nil || start == UInt8(ascii: "#")
        }
        var end = lines[(first + 1)...].firstIndex(where: isHeader) ?? lines.count
        while end > first + 1, isKept(lines[end - 1]) { end -= 1 }
        lines.removeSubrange(first..<end)
        // The empty line that stood before the table.
        if first > 0, first <= lines.count, lines[first - 1].isEmpty, first == lines.count || lines[first].isEmpty {
            lines.remove(at: first - 1)
        }
        let new = String(decoding: Array(lines.joined(separator: [UInt8(ascii: "\n")])), as: UTF8.self)
        _ = try NamedVaults(parsing: new, path: path, folders)
        return new
    }
}
