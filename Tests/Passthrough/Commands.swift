import Fuse
import Posix
import Synchronization

/// What the tests ask of a running pass-through. Runs on a thread that serves no requests, as notifications must.
struct Commands: Sendable {
    private let session: Session
    private let fileSystem: Passthrough

    init(_ session: Session, _ fileSystem: Passthrough) {
        self.session = session
        self.fileSystem = fileSystem
    }

    func run(_ line: String) -> String {
        let words = line.split(separator: " ").map(String.init)
        do throws(Errno) {
            return try run(words)
        } catch {
            return "failed \(error.name)"
        }
    }

    private func run(_ words: [String]) throws(Errno) -> String {
        switch words.first {
        case "invalidate":
            // Attributes and pages of every inode.
            for node in fileSystem.nodes.all { try session.notifier.invalidate(node) }
        case "invalidate-entry":
            guard words.count == 2, let name = Name(bytes: words[1].utf8) else { throw .EINVAL }
            try session.notifier.invalidateEntry(name, in: .root)
        case "delay-open":
            guard words.count == 2, let delay = Int(words[1]) else { throw .EINVAL }
            fileSystem.openDelay.store(delay, ordering: .relaxed)
        case "fail":
            // CALL ERRNO COUNT, and perhaps `done`.
            guard words.count >= 4, let call = Faults.Call(rawValue: words[1]), let count = Int(words[3]) else {
                throw .EINVAL
            }
            guard let error = [Errno.EIO, .EINTR, .ESTALE].first(where: { $0.name == words[2] }) else { throw .EINVAL }
            fileSystem.faults.fail(call, with: error, times: count, isDone: words.last == "done")
        case "left":
            guard words.count == 2, let call = Faults.Call(rawValue: words[1]) else { throw .EINVAL }
            return "left \(fileSystem.faults.left(of: call))"
        case "handles":
            return "handles \(fileSystem.files.count + fileSystem.directories.count)"
        case "page-writes":
            return "page-writes \(fileSystem.pageWrites.load(ordering: .relaxed))"
        case "transport":
            switch session.transport {
            case .open: return "open"
            case .ring: return "ring"
            case .device(.refused(let error)): return "device \(error.name)"
            case .device(let reason): return "device \(reason)"
            }
        case "unmount":
            try session.unmount(lazily: words.contains("lazily"))
        case "abort":
            try session.abort()
        default:
            throw .EINVAL
        }
        return "done"
    }
}
