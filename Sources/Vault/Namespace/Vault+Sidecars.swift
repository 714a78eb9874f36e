import Posix
import Store

extension Vault {
    /// At most this many stale sidecars wait; each keeps a directory open.
    private static let mostStaleSidecars = 64

    /// Makes the sidecar of a long name durable before its entry appears.
    package func prepareSidecar(of stored: StoredName, in directory: Directory) throws(VaultError) {
        guard let sidecar = stored.sidecar else { return }
        left.sidecars.keep(sidecar.name)
        try backing { () throws(Errno) in
            try writeWholeFile(sidecar.ciphertext, at: sidecar.name, in: directory.descriptor)
        }
        try flush(folder: directory.descriptor)
    }

    /// Removes the sidecar of a long name once the entry's absence is durable. An orphan is harmless.
    func dropSidecar(of stored: StoredName, in directory: Directory) {
        guard let sidecar = stored.sidecar else { return }
        let folder = directory.descriptor
        drop(StaleSidecars.Sidecar(folder: folder, name: sidecar.name, directory: folder, entry: stored.name))
    }

    func drop(_ sidecar: StaleSidecars.Sidecar) {
        left.sidecars.add(sidecar)
        // After a failure the next call tries again.
        if left.sidecars.count > Self.mostStaleSidecars { try? dropSidecars() }
    }

    /// Removes the sidecars whose entries are durably gone.
    func dropSidecars() throws(VaultError) {
        let stale = left.sidecars.all
        var folders: [Descriptor] = []
        for sidecar in stale where !folders.contains(where: { $0 === sidecar.directory }) {
            folders.append(sidecar.directory)
        }
        for folder in folders {
            try flush(folder: folder)
        }
        for sidecar in stale { left.sidecars.remove(sidecar, in: self) }
    }
}
