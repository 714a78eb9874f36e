import Glibc
import Posix
import TOML

extension NamedVaults {
    /// Adds the table of a vault at the end of the user's configuration, durably, and makes the file and its folder if
    /// they are missing. What is in the file stays as it is, byte by byte.
    ///
    /// A symbolic link is followed, so that a file that is kept elsewhere is replaced there. A new file has mode 0600;
    /// one that was there keeps its mode.
    ///
    /// - Parameter vault: its name, folder and mount point must be free. Of its settings, only `deviceKey`,
    ///   `guardsMountPoint` and `lockOn` are written.
    public static func append(_ vault: NamedVault, _ folders: UserFolders = UserFolders()) throws(NamedVaultsError) {
        let path = folders.namedVaults
        let folder = try writing(path) { () throws(Errno) in
            try makeFolders(folders.configuration)
            return try Descriptor.open(path: folders.configuration, O_RDONLY | O_DIRECTORY)
        }
        // Another command that adds a name waits, and then reads what this one has written.
        try writing(path) { () throws(Errno) in try folder.waitForLock() }
        defer { withExtendedLifetime(folder) {} }
        let old: String
        do { old = try TrustedFile.text(of: path) ?? "" } catch {
            throw NamedVaultsError(path, line: error.line, error.problem)
        }
        let new = try text(old, adding: vault, path: path, folders)
        try writing(path) { () throws(Errno) in try replace(path, with: new) }
    }

    /// The text with the table of a vault at its end.
    ///
    /// - Throws: if the text is wrong, or has the name, the folder or the mount point already.
    public static func text(
        _ old: String, adding vault: NamedVault, path: String, _ folders: UserFolders
    ) throws(NamedVaultsError) -> String {
        guard let table = vault.table(folders) else {
            throw NamedVaultsError(path, "it can have no path with both kinds of quotes, or with a control character")
        }
        // By bytes: CR and LF are one character.
        let gap = old.isEmpty ? "" : old.utf8.last == UInt8(ascii: "\n") ? "\n" : "\n\n"
        let new = old + gap + table
        _ = try NamedVaults(parsing: new, path: path, folders)
        return new
    }

    static func writing<Result>(
        _ path: String, _ body: () throws(Errno) -> Result
    ) throws(NamedVaultsError) -> Result {
        do throws(Errno) { return try body() } catch {
            throw NamedVaultsError(path, "it cannot be written: \(error)")
        }
    }

    /// Makes a folder and those above it that are missing, with mode 0700.
    private static func makeFolders(_ path: String) throws(Errno) {
        var folder = ""
        for part in path.split(separator: "/") {
            folder += "/" + part
            if unsafe mkdir(folder, 0o700) != 0, Errno.current != .EEXIST, unsafe access(folder, F_OK) != 0 {
                throw Errno.current
            }
        }
    }

    static func replace(_ path: String, with text: String) throws(Errno) {
        var target = path
        if let resolved = unsafe realpath(path, nil) {
            target = unsafe String(cString: resolved)
            unsafe free(resolved)
        }
        let mode = (try? Descriptor.open(path: target, O_PATH).status())?.permissions ?? 0o600
        // In the same folder, for rename(2). Not there before: one that an interrupted command left is replaced.
        let temporary = target + ".new"
        _ = unsafe unlink(temporary)
        do throws(Errno) {
            let file = try Descriptor.open(path: temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try file.setMode(mode)
            let bytes = Array(text.utf8)
            try unsafe file.write(bytes.span.bytes)
            try file.synchronize(dataOnly: false)
            guard unsafe rename(temporary, target) == 0 else { throw Errno.current }
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
        let folder = String(target[..<(target.lastIndex(of: "/") ?? target.endIndex)])
        try Descriptor.open(path: folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY).synchronize(dataOnly: false)
    }
}

extension NamedVault {
    /// The text of its table; nil if a path cannot be written in the reader's subset of TOML.
    fileprivate func table(_ folders: UserFolders) -> String? {
        guard let name = TOMLText.namePart(name.text), let folder = TOMLText.quoted(folders.abbreviated(folder)),
            let mountPoint = TOMLText.quoted(folders.abbreviated(mountPoint))
        else { return nil }
        var lines = ["[vaults.\(name)]", "\(Key.folder.rawValue) = \(folder)", "\(Key.mount.rawValue) = \(mountPoint)"]
        if let deviceKey {
            guard let text = TOMLText.quoted(folders.abbreviated(deviceKey)) else { return nil }
            lines.append("\(Key.deviceKey.rawValue) = \(text)")
        }
        if let guardsMountPoint { lines.append("\(Key.guardMountPoint.rawValue) = \(guardsMountPoint)") }
        if let lockOn {
            let sources = lockOn.map { "\"\($0.rawValue)\"" }.sorted().joined(separator: ", ")
            lines.append("\(Key.lockOn.rawValue) = [\(sources)]")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
