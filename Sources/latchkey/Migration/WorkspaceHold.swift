import Glibc
import Migration
import Posix
import Store

/// The workspace of a folder, which this process alone uses while the object exists.
final class WorkspaceHold {
    private let target: MigratedFolder
    private let folder: Descriptor

    /// Makes the workspace if it is missing, and takes its lock. Removes what an interruption before the first file has
    /// left there.
    ///
    /// - Throws: if another process has the lock, or something else has the name.
    init(_ target: MigratedFolder) throws(CommandError) {
        self.target = target
        let store = try target.store()
        do throws(Errno) {
            do throws(Errno) {
                try store.makeDirectory(target.workspace, in: store.root, mode: 0o700)
                try store.synchronize(store.root, dataOnly: false)
            } catch { guard error == .EEXIST else { throw error } }
            folder = try Workspace.open(target.workspace, in: store.root, store)
            try folder.lockExclusively()
        } catch {
            switch error {
            case .EWOULDBLOCK:
                throw CommandError(
                    .failed, "another latchkey is at work on \(target.path.path) at this moment; nothing was done")
            case .EPERM, .ENOTDIR, .ELOOP:
                throw CommandError(
                    .failed, "\(target.workspacePath) is no workspace of this user's: its owner or its mode is another",
                    try: "ls -lad \(target.workspacePath.quoted)")
            default: throw CommandError(cannot: "make the workspace", target.workspacePath, error)
            }
        }
        try removeLeftovers(store)
    }

    private func removeLeftovers(_ store: any Store) throws(CommandError) {
        guard try target.record() == nil else { return }
        let isOwn: Bool
        do throws(Errno) { isOwn = try Workspace.holdsNothingElse(folder, store) } catch {
            throw CommandError(cannot: "look into", target.workspacePath, error)
        }
        guard isOwn else {
            throw CommandError(
                .failed, "\(target.workspacePath) holds something that latchkey has not put there; nothing was done",
                try: "mv \(target.workspacePath.quoted) elsewhere, and the same again")
        }
        try PlannedVault.destroy(target.vaultInWorkspace, deviceKey: nil)
        do throws(Errno) { try Workspace.empty(folder, store) } catch {
            throw CommandError(cannot: "empty", target.workspacePath, error)
        }
    }

    /// After a failure before anything was done: removes the workspace, if it holds nothing.
    func giveUp() {
        do throws(CommandError) {
            if try target.record() == nil { _ = target.workspacePath.rmdir() }
        } catch {
            // What cannot be read stays.
        }
    }

    /// Removes the workspace, which holds nothing any more that is needed.
    func remove() throws(CommandError) {
        let store = try target.store()
        do throws(Errno) { try Workspace.remove(target.workspace, in: store.root, store) } catch {
            throw CommandError(cannot: "remove", target.workspacePath, error)
        }
    }

    func write(_ record: MigrationRecord) throws(CommandError) {
        let store = try target.store()
        do throws(Errno) {
            try Workspace(target.workspace, in: store.root, store).write(record: record.fields)
        } catch { throw CommandError(cannot: "write to", target.workspacePath, error) }
    }
}
