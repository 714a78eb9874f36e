import Format
import Posix
import Store
import Synchronization

/// Wraps all file keys of a vault with new class keys, while the vault is in use: one walk after another, until one
/// finds nothing to do.
///
/// One walk at a time. Holds no lock and no key between two files.
public final class KeyRotation: Sendable {
    public enum Outcome: Hashable, Sendable {
        /// Every file has the current keys.
        case clean
        /// Some files had the previous keys, or moved: another walk is needed.
        case unproven
        /// Some files still have the previous keys.
        case failed
        /// It was told to stop, or the keys are evicted.
        case interrupted
    }

    let vault: Vault
    /// Held exclusively while a folder is renamed. Lock order: docs/ARCHITECTURE.md.
    private let tree: ReadWriteLock
    private let isStopped: @Sendable () -> Bool
    private let state = Mutex(State())

    private struct State {
        var progress = RotationProgress()
        var hasFoundWork = false
    }

    /// - Parameters:
    ///   - tree: a rename of a folder holds it exclusively.
    ///   - isStopped: called between two files.
    public init(of vault: Vault, tree: ReadWriteLock, isStopped: @escaping @Sendable () -> Bool) {
        self.vault = vault
        self.tree = tree
        self.isStopped = isStopped
    }

    /// Does not wait for a walk.
    public var progress: RotationProgress { state.withLock { $0.progress } }

    /// Whether the ring has the keys that a rotation needs.
    public var hasKeys: Bool { vault.ring.canRenew }

    /// Walks all files.
    public func walk() -> Outcome {
        state.withLock { state in
            state.progress.begin()
            state.hasFoundWork = false
        }
        vault.order.renames.watch()
        guard hasKeys, walkTree(), lookAtMoved(), lookAtOpen() else { return .interrupted }
        // Read last, so that it covers all renames of the walk, also those during the look at open files.
        let isSeen = vault.order.renames.areSeen
        return state.withLock { state in
            state.progress.fraction = 1
            if state.progress.failed > 0 { return .failed }
            return isSeen && !state.hasFoundWork ? .clean : .unproven
        }
    }

    /// After a clean walk: makes its changes, and those of earlier walks, durable.
    public func makeDurable() throws(VaultError) { try vault.synchronize() }

    /// Ends the recording of renames.
    public func end() { vault.order.renames.stopWatching() }

    // MARK: -

    var mustStop: Bool { isStopped() || !hasKeys }

    private func walkTree() -> Bool {
        do throws(VaultError) {
            let root = try tree.withShared { () throws(VaultError) in try vault.readRoot() }
            return walk(from: root, nil)
        } catch { return fail(error, nil) }
    }

    private func walk(from directory: Directory, _ walkPath: WalkPath?) -> Bool {
        RotationWalk(self).walk(from: directory, walkPath)
    }

    /// Opens a folder while no folder is renamed.
    func open(_ name: Name, in parent: Directory) throws(VaultError) -> Directory {
        try tree.withShared { () throws(VaultError) in try vault.openDirectory(name, in: parent) }
    }

    /// Looks at entries that were renamed during the walk. False if it must stop.
    private func lookAtMoved() -> Bool {
        while let moved = vault.order.renames.next() {
            guard !mustStop else { return false }
            let walkPath = WalkPath(moved.name, in: nil)
            do throws(VaultError) {
                switch try vault.status(of: moved.name, in: moved.parent).kind {
                case .regular: guard look(at: moved.name, in: moved.parent, walkPath) else { return false }
                case .directory:
                    let folder = try open(moved.name, in: moved.parent)
                    guard walk(from: folder, walkPath) else { return false }
                default: break
                }
            } catch { guard fail(error, walkPath) else { return false } }
        }
        return true
    }

    /// Looks at the files in memory: some have no name, and each writes the header that it has in memory.
    private func lookAtOpen() -> Bool {
        for file in vault.files.all {
            guard !mustStop else { return false }
            do throws(VaultError) { count(try file.renewWrap()) } catch {
                // Most have a name, and the walk has counted their failure.
                let hasFailed = state.withLock { $0.progress.failed > 0 }
                guard error != .locked, hasFailed || fail(error, nil) else { return false }
            }
        }
        return true
    }

    /// Renews a file's wrap. False if it must stop.
    func look(at name: Name, in parent: Directory, _ walkPath: WalkPath) -> Bool {
        var last = VaultError.system(.ESTALE)
        // Between the listing and the open, the name may have become another file's.
        for _ in 0..<3 {
            do throws(VaultError) {
                count(try vault.renewWrap(of: name, in: parent))
                return true
            } catch {
                last = error
                guard error.isPassing else { break }
            }
        }
        return fail(last, walkPath)
    }

    /// Counts a file, and whether its wrap was renewed.
    func count(_ isRenewed: Bool) {
        state.withLock { state in
            state.progress.files += 1
            guard isRenewed else { return }
            state.progress.renewed += 1
            state.hasFoundWork = true
        }
    }

    func advance(by share: Double) { state.withLock { $0.progress.fraction += share } }

    /// Counts a failure, unless the error is of a kind that another walk takes care of. False if the walk must end.
    func fail(_ error: VaultError, _ walkPath: WalkPath?) -> Bool {
        // The rename has noted the name, or will when it ends.
        if error.isAbsence || error == .system(.EBUSY) { return true }
        if error == .system(.ESTALE) {
            state.withLock { $0.hasFoundWork = true }
            return true
        }
        if error == .locked { return false }
        state.withLock { state in
            state.progress.failed += 1
            let path = walkPath.map { "\($0): " } ?? ""
            if state.progress.failure == nil { state.progress.failure = "\(path)\(error.reason)" }
        }
        return true
    }
}

extension VaultError {
    /// Whether the error may go away when the file is looked at again.
    fileprivate var isPassing: Bool {
        switch self {
        case .damaged, .system(.ESTALE): true
        default: false
        }
    }

    fileprivate var reason: String {
        switch self {
        case .system(let errno): "\(errno)"
        case .locked: "its class is locked"
        case .damaged(let reason), .unsupported(let reason), .unseen(let reason), .stale(let reason): reason
        }
    }
}
