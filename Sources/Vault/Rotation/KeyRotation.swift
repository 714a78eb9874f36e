import Format
import Posix
import Store
import Synchronization

/// Gives all files of a vault the new class keys, while it is in use: one walk after another, until one has found
/// nothing to do.
///
/// One walk at a time. Holds no lock and no key from one file to the next.
public final class KeyRotation: Sendable {
    public enum Outcome: Hashable, Sendable {
        /// Each file has the keys of now.
        case clean
        /// Some had those of before, or moved: another walk has to tell.
        case unproven
        /// Some still have those of before.
        case failed
        /// It was to stop, or the keys have gone.
        case interrupted
    }

    let vault: Vault
    /// Held exclusively while a folder gets another name.
    private let tree: ReadWriteLock
    private let isStopped: @Sendable () -> Bool
    private let state = Mutex(State())

    private struct State {
        var progress = RotationProgress()
        var hasFoundWork = false
    }

    /// - Parameters:
    ///   - tree: held exclusively by whoever gives a folder another name.
    ///   - isStopped: asked between any two files.
    public init(of vault: Vault, tree: ReadWriteLock, isStopped: @escaping @Sendable () -> Bool) {
        self.vault = vault
        self.tree = tree
        self.isStopped = isStopped
    }

    /// Answers at once.
    public var progress: RotationProgress { state.withLock { $0.progress } }

    /// Whether the keys are at hand that it takes.
    public var hasKeys: Bool { vault.ring.canRenew }

    /// Looks at every file.
    public func walk() -> Outcome {
        state.withLock { state in
            state.progress.begin()
            state.hasFoundWork = false
        }
        vault.renames.watch()
        guard hasKeys, walkTree(), lookAtMoved(), lookAtOpen() else { return .interrupted }
        // What has moved since the last look, and nothing of what is in memory is looked at behind it.
        let isSeen = vault.renames.areSeen
        return state.withLock { state in
            state.progress.fraction = 1
            if state.progress.failed > 0 { return .failed }
            return isSeen && !state.hasFoundWork ? .clean : .unproven
        }
    }

    /// After a walk that was clean: no power loss brings back what it, or the ones before, have changed.
    public func makeDurable() throws(VaultError) { try vault.synchronize() }

    /// Nobody needs to know any more what moves.
    public func end() { vault.renames.stopWatching() }

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

    /// Opens a folder while none gets another name.
    func open(_ name: Name, in parent: Directory) throws(VaultError) -> Directory {
        try tree.withShared { () throws(VaultError) in try vault.openDirectory(name, in: parent) }
    }

    /// False if it has to stop.
    private func lookAtMoved() -> Bool {
        while let moved = vault.renames.next() {
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

    /// Files that are in memory: some have no name, and what one has in memory it writes.
    private func lookAtOpen() -> Bool {
        for file in vault.files.all {
            guard !mustStop else { return false }
            do throws(VaultError) { count(try file.renewWrap()) } catch {
                // Most have a name, under which they have failed already.
                let hasFailed = state.withLock { $0.progress.failed > 0 }
                guard error != .locked, hasFailed || fail(error, nil) else { return false }
            }
        }
        return true
    }

    /// Renews a file's wrap; false if it has to stop.
    func look(at name: Name, in parent: Directory, _ walkPath: WalkPath) -> Bool {
        var last = VaultError.system(.ESTALE)
        // Whoever opens a file by its name may find another there.
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

    /// A file was looked at, and it had the old keys perhaps.
    func count(_ isRenewed: Bool) {
        state.withLock { state in
            state.progress.files += 1
            guard isRenewed else { return }
            state.progress.renewed += 1
            state.hasFoundWork = true
        }
    }

    func advance(by share: Double) { state.withLock { $0.progress.fraction += share } }

    /// False if that is no failure, but the end of this walk.
    func fail(_ error: VaultError, _ walkPath: WalkPath?) -> Bool {
        // Whoever has moved it has said so, or is about to.
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
    /// It may be otherwise the next time.
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
        case .damaged(let reason), .unsupported(let reason): reason
        }
    }
}
