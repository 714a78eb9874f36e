import Administration
import Crypto
import Format
import Glibc
import Policy
import Posix
import Synchronization

/// Sets the class of files, one after another, and shows how far it is; a signal ends it after the file that it is at.
final class ClassSetting: Sendable {
    private struct State {
        /// Files and folders that were come to.
        var count = 0
        var failures = Failures()
        /// Where it is.
        var path: [UInt8] = []
    }

    private let protectionClass: ProtectionClass
    private let isRecursive: Bool
    private let rekey: Bool
    private let state = Mutex(State())
    private let isInterrupted = Atomic(false)
    private let screen = Screen()

    init(_ protectionClass: ProtectionClass, recursive: Bool, rekey: Bool) {
        self.protectionClass = protectionClass
        isRecursive = recursive
        self.rekey = rekey
    }

    var count: Int { state.withLock { $0.count } }
    var failures: Failures { state.withLock { $0.failures } }

    var summary: String {
        let state = state.withLock { $0 }
        return "\(protectionClass.name): \(state.count - state.failures.count) of \(state.count) set"
    }

    /// Returns when all that could be done is done; a signal ends the process.
    func run(on paths: [String], in mounts: MountTable) throws(CommandError) {
        do throws(Errno) {
            let signals = try SignalDescriptor(blocking: Interruption.signals)
            let work = try BackgroundWork<Never> { [self] in visit(paths, in: mounts) }
            // Short work shows nothing.
            var patience = Duration.seconds(1)
            var signal: Int32?
            while true {
                let ready = try Poll.readable([work.ended, signals.descriptor], timeout: patience)
                if ready.contains(0) { break }
                if ready.contains(1) {
                    let next = try signals.next()
                    // Asked twice: a file may be frozen until the next unlock.
                    if signal != nil { Interruption.die(of: next) }
                    signal = next
                    isInterrupted.store(true, ordering: .relaxed)
                }
                patience = .milliseconds(200)
                screen.show(progress)
            }
            screen.write {}
            // Too late to stop anything: all is done.
            guard let signal, isStopped else { return }
            let next = remembers.load(ordering: .relaxed) ? "goes on from there" : "begins anew"
            Standard.error("latchkey: stopped; \(summary) so far. The same command \(next).")
            Interruption.die(of: signal)
        } catch { throw CommandError(.failed, "cannot set classes: \(error)") }
    }

    /// Whether something was left undone for a signal.
    private let stopped = Atomic(false)
    private var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }

    /// Whether the next run will know which files have got new keys.
    private let remembers = Atomic(true)

    /// Whether the next file is not to be begun.
    private func stops() -> Bool {
        guard isInterrupted.load(ordering: .relaxed) else { return false }
        stopped.store(true, ordering: .sequentiallyConsistent)
        return true
    }

    private var progress: Printable {
        let state = state.withLock { $0 }
        let failed = state.failures.count == 0 ? "" : ", \(Amount.count(state.failures.count)) failed"
        let done = "\(Amount.count(state.count - state.failures.count)) set\(failed): "
        let path = "\(state.path)" as Printable
        let room = max(79 - done.count, 0)
        return "\(done)\(path.count > room ? Printable(verbatim: "…" + path.text.suffix(max(room - 1, 0))) : path)"
    }

    private func add(_ error: CommandError) {
        screen.write { state.withLock { $0.failures.add(error) } }
    }

    private func visit(_ paths: [String], in mounts: MountTable) {
        for path in paths where !stops() {
            do throws(CommandError) {
                let file = try inWords(try ClassedFile(path: path, in: mounts))
                let log = isRecursive && rekey ? RekeyLog(in: file, for: protectionClass) : nil
                if isRecursive && rekey && log == nil { remembers.store(false, ordering: .relaxed) }
                visit(file, log)
                if !isStopped { log?.remove() }
            } catch {
                state.withLock { $0.count += 1 }
                add(error)
            }
        }
    }

    /// One folder on the way down.
    private struct Level {
        /// Nil once it was let go: it is opened anew by its name when the walk comes back.
        var folder: ClassedFile?
        let path: [UInt8]
        let name: Name
        let inode: UInt64
        /// What is to be come to yet.
        var names: ArraySlice<Name>
    }

    /// Folders on the way down that are kept open.
    private static let mostOpen = 32

    /// Sets the class of `file`, then of what is below it, however deep.
    private func visit(_ file: ClassedFile, _ log: RekeyLog?) {
        var levels: [Level] = []
        enter(file, log, &levels)
        while let last = levels.indices.last {
            guard let name = levels[last].names.popFirst() else {
                levels.removeLast()
                continue
            }
            if stops() { return }
            do throws(Errno) {
                let folder = try folder(of: last, &levels)
                let child = try ClassedFile(name, in: folder)
                // Another file system mounted below is not ours to change.
                guard child.hasClass, child.status.device == folder.status.device else { continue }
                enter(child, log, &levels)
                if levels.count > Self.mostOpen { levels[levels.count - Self.mostOpen].folder = nil }
            } catch {
                add(CommandError(cannot: "open", levels[last].path + [UInt8(ascii: "/")] + name.bytes, error))
            }
        }
    }

    /// The folder of a level, opened anew from the nearest one above it that is open, which the first always is. The levels right
    /// above it are opened with it: the walk comes back to them next.
    private func folder(of level: Int, _ levels: inout [Level]) throws(Errno) -> ClassedFile {
        if let folder = levels[level].folder { return folder }
        var open = level
        while open > 0, levels[open].folder == nil { open -= 1 }
        guard let top = levels[open].folder else { throw .ESTALE }
        var (parent, file, status) = (top.parent, top.file, top.status)
        for next in open + 1...level {
            (parent, file) = (file, try file.open(levels[next].name, O_PATH | O_NOFOLLOW))
            status = try file.status()
            // Somebody has put another in its place.
            guard status.inode == levels[next].inode, status.device == top.status.device else { throw .ESTALE }
            if next < level, level - next < Self.mostOpen / 2, !levels[next].names.isEmpty {
                levels[next].folder = ClassedFile(again: file, status, levels[next].path, levels[next].name, in: parent)
            }
        }
        let folder = ClassedFile(again: file, status, levels[level].path, levels[level].name, in: parent)
        levels[level].folder = folder
        return folder
    }

    private func enter(_ file: ClassedFile, _ log: RekeyLog?, _ levels: inout [Level]) {
        state.withLock { state in
            state.count += 1
            state.path = file.path
        }
        do throws(CommandError) { try set(file, log) } catch { add(error) }
        guard isRecursive, file.status.kind == .directory else { return }
        let names: [Name]
        do { names = try file.children() } catch { return add(CommandError(cannot: "list", file.path, error)) }
        // Not where another run may be at work.
        if log != nil { Rekeying.removeRemains(names, in: file.file) }
        let others = names.filter { !rekey || !(Rekeying.isCopy($0) || RekeyLog.isLog($0)) }
        levels.append(
            Level(folder: file, path: file.path, name: file.name, inode: file.status.inode, names: others[...]))
    }

    private func set(_ file: ClassedFile, _ log: RekeyLog?) throws(CommandError) {
        do throws(Errno) {
            let isExplicit = try file.isExplicit()
            let hasClass = isExplicit ? try file.protectionClass() == protectionClass : false
            if !hasClass { try file.setClass(protectionClass) }
            guard rekey, file.status.kind == .regular, file.status.size > 0 else { return }
            if hasClass, let log, try log.contains(file) { return }
        } catch .EPERM {
            throw refusal(of: file)
        } catch .ENOKEY {
            throw CommandError(
                .locked, "cannot set the class of \(file.path): the key that it needs is locked away",
                try: "latchkey unlock \(file.path.quoted)")
        } catch {
            throw CommandError(cannot: "set the class of", file.path, error)
        }
        do {
            let copy = try Rekeying(file) { [self] in stops() }.run()
            log?.add(copy)
        } catch {
            if case .interrupted = error { return state.withLock { $0.count -= 1 } }
            throw CommandError(error, about: .file(file.path, protectionClass))
        }
    }

    /// The kernel tells neither from the other.
    private func refusal(of file: ClassedFile) -> CommandError {
        let policy = try? PolicyInForce.load(besides: nil, X25519.publicKey)
        if let violation = policy?.violation(setting: protectionClass) {
            return CommandError(
                .failed, "cannot set the class of \(file.path): \(violation)", try: "latchkey policy check")
        }
        let isOwner = geteuid() == 0 || geteuid() == file.status.owner
        return CommandError(
            .failed,
            "cannot set the class of \(file.path): "
                + (isOwner ? "the policy that the mount was given forbids it" : "only its owner can"))
    }
}
