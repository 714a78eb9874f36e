import Format
import Posix
import Store
import Vault

/// The repair of one finding after the other, on one thread.
final class RepairWork {
    let vault: Vault
    let salvages: Bool
    let check: Check
    /// Set by `openRoot`.
    var root: Directory!
    private(set) lazy var lostAndFound = LostAndFound(vault, root)
    /// Files and directories that stand where they belong, or have been put somewhere: what has the same ID is a copy.
    var takenFiles: Set<FileIdentifier> = []
    var takenDirectories: Set<DirectoryIdentifier> = []
    /// Where files were put, in the mount.
    private var moved: Set<[UInt8]> = []
    /// A directory with its own names was set temporary.
    var hasAdoptedFolders = false

    var store: any Store { vault.store }

    init(_ vault: Vault, salvages: Bool, check: Check) {
        self.vault = vault
        self.salvages = salvages
        self.check = check
    }

    /// Orphans first: they make room. Folders last: what is in them is moved file by file.
    static func order(_ finding: Finding) -> Int {
        switch finding.kind {
        case .temporary, .sidecar, .record, .keybagCopy, .continuation, .unsynced: 0
        case .directory: 2
        default: 1
        }
    }

    static func isRepairable(_ finding: Finding) -> Bool {
        guard finding.spot != nil else { return false }
        return switch finding.kind {
        case .header, .binding, .key, .contents, .symlink, .attribute, .name: true
        case .directory: finding.spot?.stored != nil
        case .temporary, .sidecar, .record, .keybagCopy, .continuation, .unsynced: true
        case .keybag, .journal, .unreadable, .foreign, .unsupported, .unchecked: false
        }
    }

    /// Repairs one finding. An error that concerns it alone is its outcome.
    func repair(_ finding: Finding) throws(VaultError) -> RepairOutcome? {
        guard let spot = finding.spot else { return nil }
        do throws(VaultError) {
            switch finding.kind {
            case .temporary, .sidecar, .record, .keybagCopy:
                return try removeOrphan(spot, isTarget: finding.isOfTarget)
            case .unsynced: return try repairUnsynced(spot, finding)
            case .header: return try repairHeader(spot, finding)
            case .binding: return try repairBinding(spot, finding)
            case .key, .contents: return try moveToLostAndFound(spot, finding)
            case .symlink: return try repairSymbolicLink(spot, finding)
            case .attribute: return try removeAttribute(spot, finding)
            case .continuation: return try removeContinuation(spot)
            case .name: return try repairName(spot, finding)
            case .directory: return try repairFolder(spot, finding)
            case .keybag, .journal, .unreadable, .foreign, .unsupported, .unchecked: return nil
            }
        } catch {
            switch error {
            case .system(.ENOSPC), .system(.EDQUOT), .system(.EROFS): throw error
            case .system(let errno): return .failed("\(errno)")
            case .damaged(let reason), .unsupported(let reason): return .failed("\(reason)")
            case .locked: return .failed("the key of its class is not at hand: it takes --unlock")
            }
        }
    }

    func end() throws(VaultError) {
        try lostAndFound.end()
        try vault.synchronize()
    }

    // MARK: What was put where

    /// The place of what was put into lost+found; told, and not repaired once more.
    func done(_ path: [UInt8], _ more: Printable = "") throws(VaultError) -> RepairOutcome {
        moved.insert(path)
        let text: Printable = "moved to \(path)\(more)"
        try lostAndFound.note(["    \(text)"])
        return .done(text)
    }

    func isDone(_ finding: Finding) -> Bool { finding.path.map(moved.contains) ?? false }

    /// lost+found, if anything in it is to be checked.
    var adoptedFolder: CheckedFolder? {
        guard hasAdoptedFolders, let treePath = lostAndFound.treePath, let directory = try? lostAndFound.directory()
        else {
            return nil
        }
        return CheckedFolder(directory, treePath, share: 0)
    }

    /// The directory of a spot, opened anew: the check has let go of it.
    func folder(of treePath: TreePath) throws(VaultError) -> Directory {
        var names: [Name] = []
        var step = treePath
        while let parent = step.parent, let name = step.name {
            names.append(name)
            step = parent
        }
        // Of a deep tree no more than two at a time.
        var directory: Directory = root
        for name in names.reversed() { directory = try vault.openDirectory(name, in: directory) }
        return directory
    }

    /// Makes the names in folders durable.
    func flush(_ folders: Descriptor...) throws(VaultError) {
        for folder in folders {
            try backing { () throws(Errno) in try store.synchronize(folder, dataOnly: false) }
        }
    }
}
