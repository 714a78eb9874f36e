import Format
import Posix
import Store
import Vault

/// Repairs one finding after another, on one thread.
final class RepairWork {
    let vault: Vault
    let salvages: Bool
    let check: Check
    /// Set by `openRoot`.
    var root: Directory!
    private(set) lazy var lostAndFound = LostAndFound(vault, root)
    /// IDs of files and directories at their bound names, also after a move. Anything else of the same ID is a copy.
    var takenFiles: Set<FileIdentifier> = []
    var takenDirectories: Set<DirectoryIdentifier> = []
    /// Paths in the mount to which something was moved.
    private var moved: Set<[UInt8]> = []
    /// Whether a directory was moved together with its entries.
    var hasAdoptedFolders = false

    var store: any Store { vault.store }

    init(_ vault: Vault, salvages: Bool, check: Check) {
        self.vault = vault
        self.salvages = salvages
        self.check = check
    }

    /// Orphans first: their removal frees space. Folders last: their files are moved one by one.
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
        case .keybag, .journal, .unreadable, .foreign, .unsupported, .unchecked, .older, .missing: false
        }
    }

    /// Repairs one finding. An error that concerns this finding alone becomes its outcome.
    func repair(_ finding: Finding) throws(VaultError) -> RepairOutcome? {
        guard let spot = finding.spot else { return nil }
        do throws(VaultError) {
            switch finding.kind {
            case .temporary, .sidecar, .record, .keybagCopy:
                return try removeOrphan(spot, inside: finding.ownFolder)
            case .unsynced: return try repairUnsynced(spot, finding)
            case .header: return try repairHeader(spot, finding)
            case .binding: return try repairBinding(spot, finding)
            case .key, .contents: return try moveToLostAndFound(spot, finding)
            case .symlink: return try repairSymbolicLink(spot, finding)
            case .attribute: return try removeAttribute(spot, finding)
            case .continuation: return try removeContinuation(spot)
            case .name: return try repairName(spot, finding)
            case .directory: return try repairFolder(spot, finding)
            case .keybag, .journal, .unreadable, .foreign, .unsupported, .unchecked, .older, .missing: return nil
            }
        } catch {
            switch error {
            case .system(.ENOSPC), .system(.EDQUOT), .system(.EROFS): throw error
            case .system(let errno): return .failed("\(errno)")
            case .damaged(let reason), .unsupported(let reason), .unseen(let reason), .stale(let reason):
                return .failed("\(reason)")
            case .locked: return .failed("the key of its class is not at hand: it takes --unlock")
            }
        }
    }

    func end() throws(VaultError) {
        try lostAndFound.end()
        try vault.synchronize()
    }

    // MARK: What was moved

    /// The outcome of a move to lost+found. Notes the path, so that nothing there is repaired again.
    func done(_ path: [UInt8], _ more: Printable = "") throws(VaultError) -> RepairOutcome {
        moved.insert(path)
        let text: Printable = "moved to \(path)\(more)"
        try lostAndFound.note(["    \(text)"])
        return .done(text)
    }

    func isDone(_ finding: Finding) -> Bool { finding.path.map(moved.contains) ?? false }

    /// lost+found, if anything in it is still to be checked.
    var adoptedFolder: CheckedFolder? {
        guard hasAdoptedFolders, let treePath = lostAndFound.treePath, let directory = try? lostAndFound.directory()
        else {
            return nil
        }
        return CheckedFolder(directory, treePath, share: 0)
    }

    /// The directory of a spot, opened again: the check has closed it.
    func folder(of treePath: TreePath) throws(VaultError) -> Directory {
        var names: [Name] = []
        var step = treePath
        while let parent = step.parent, let name = step.name {
            names.append(name)
            step = parent
        }
        // Two at most are open at a time, also in a deep tree.
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
