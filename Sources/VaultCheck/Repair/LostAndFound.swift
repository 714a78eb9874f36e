import Format
import Glibc
import Posix
import Store
import Vault

/// The directory `lost+found` in the root, made when it is first needed. It holds what was moved, under the path that
/// it had, and a report.
final class LostAndFound {
    private static let reportName: Name = "REPORT.txt"

    private let vault: Vault
    private let root: Directory
    private var opened: Directory?
    private var report: File?
    /// The path of `lost+found`; nil until it is opened.
    private(set) var treePath: TreePath?

    init(_ vault: Vault, _ root: Directory) {
        self.vault = vault
        self.root = root
    }

    /// The owner of new entries: the vault's owner, whichever user runs the repair.
    private func ownership(_ mode: UInt32) throws(VaultError) -> Ownership {
        let status = try backing { () throws(Errno) in try vault.store.status(of: root.descriptor) }
        return Ownership(mode: mode, user: status.owner, group: status.group)
    }

    func directory() throws(VaultError) -> Directory {
        if let opened { return opened }
        for name in TreePath.lostAndFound {
            guard let directory = try folder(name, in: root) else { continue }
            opened = directory
            treePath = TreePath.root.appending(name, try vault.storedName(name, in: root).name)
            return directory
        }
        throw .system(.EEXIST)
    }

    /// The directory in lost+found for a directory of the tree, made with its parents, and its path. For a
    /// directory in lost+found it is that directory.
    func folder(for source: TreePath) throws(VaultError) -> (directory: Directory, path: [UInt8]) {
        var directory = try directory()
        var path = treePath!.path()
        var names: [Name] = []
        var step = source
        while let parent = step.parent, let name = step.name {
            names.append(name)
            step = parent
        }
        if source.isLostAndFound { names.removeLast() }
        for name in names.reversed() {
            (directory, path) = try folder(named: name, in: directory, path)
        }
        return (directory, path)
    }

    /// A subdirectory in lost+found, made if it is missing. If the name is taken, it gets a number.
    func folder(
        named name: Name, in parent: Directory, _ path: [UInt8]
    ) throws(VaultError) -> (directory: Directory, path: [UInt8]) {
        var number = 1
        while true {
            let candidate = name.numbered(number)
            if let directory = try folder(candidate, in: parent) {
                return (directory, path + [UInt8(ascii: "/")] + candidate.bytes)
            }
            number += 1
        }
    }

    /// Opens or makes a directory; nil if the name belongs to something else, or to a damaged directory.
    private func folder(_ name: Name, in parent: Directory) throws(VaultError) -> Directory? {
        if try !exists(name, in: parent) {
            try vault.makeDirectory(name, in: parent, ownership(0o700))
            try vault.synchronize(parent)
        }
        do throws(VaultError) { return try vault.openDirectory(name, in: parent) } catch {
            switch error {
            case .damaged, .system(.ENOTDIR), .system(.ELOOP): return nil
            default: throw error
            }
        }
    }

    private func exists(_ name: Name, in directory: Directory) throws(VaultError) -> Bool {
        let stored = try vault.storedName(name, in: directory)
        do throws(Errno) {
            _ = try vault.store.status(of: stored.name, in: directory.descriptor)
            return true
        } catch .ENOENT {
            return false
        } catch { throw .system(error) }
    }

    /// A free name: `name` and `suffix`, with a number between them if needed.
    func freeName(_ name: Name, _ suffix: String = "", in directory: Directory) throws(VaultError) -> Name {
        var number = 1
        while true {
            let candidate = name.numbered(number, suffix)
            if try !exists(candidate, in: directory) { return candidate }
            number += 1
        }
    }

    /// Makes a file of lost+found's own; it appears whole or not at all. Its class is D, because the device key also
    /// opens names.
    func makeFile(_ name: Name, _ bytes: [UInt8], in directory: Directory) throws(VaultError) {
        let temporary = try vault.partialName(of: name, in: directory)
        let file = try vault.createFile(temporary, in: directory, ownership(0o600), .none)
        try unsafe file.write(bytes.span.bytes, at: 0)
        try vault.finish(file, temporary, as: name, in: directory)
    }

    // MARK: The report

    /// Adds lines to the report, durably: each step is written down before it is done. People read the report in a
    /// terminal.
    func note(_ lines: [Printable]) throws(VaultError) {
        let file = try openReport()
        try unsafe file.append(Array("\(lines.joined(separator: "\n    "))\n".utf8).span.bytes)
        try file.synchronize(dataOnly: true)
    }

    private func openReport() throws(VaultError) -> File {
        if let report { return report }
        let directory = try directory()
        var number = 1
        while true {
            let name = Self.reportName.numbered(number)
            if try !exists(name, in: directory) {
                let file = try vault.createFile(name, in: directory, ownership(0o600), .none)
                try unsafe file.append(Array(Self.introduction.utf8).span.bytes)
                try file.synchronize(dataOnly: false)
                try vault.synchronize(directory)
                report = file
                return file
            }
            do throws(VaultError) {
                let file = try vault.openFile(name, in: directory)
                try file.loadKey()
                report = file
                return file
            } catch { number += 1 }
        }
    }

    private static let introduction = """
        What latchkey fsck --repair has moved here, and why. Each path is where it was in the mount; behind it, where it
        was in the vault, for who has a backup of that. Delete what you do not need any more.


        """

    func end() throws(VaultError) {
        try report?.synchronize(dataOnly: false)
        report = nil
    }
}

extension Name {
    /// The name with a number, from 2 on, and a suffix. It is shortened if it would be too long.
    func numbered(_ number: Int, _ suffix: String = "") -> Name {
        let ending = Array(((number > 1 ? "-\(number)" : "") + suffix).utf8)
        return Name(bytes: bytes.prefix(Name.maximumCount - ending.count) + ending)!
    }
}
