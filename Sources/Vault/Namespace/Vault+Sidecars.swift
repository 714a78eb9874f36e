import Posix
import Store

extension Vault {
    /// Directories that are kept open for their stale sidecars.
    private static let mostStaleSidecars = 64

    /// Makes sure that the sidecar of a long name is there, whole and durably, before its entry appears.
    package func prepareSidecar(of stored: StoredName, in directory: Directory) throws(VaultError) {
        guard let sidecar = stored.sidecar else { return }
        sidecars.keep(sidecar.name)
        try backing { () throws(Errno) in
            try writeWholeFile(sidecar.ciphertext, at: sidecar.name, in: directory.descriptor)
        }
        try flush(folder: directory.descriptor)
    }

    /// Has the sidecar of a long name removed once it is durable that the entry is gone. A orphan is harmless.
    func dropSidecar(of stored: StoredName, in directory: Directory) {
        guard let sidecar = stored.sidecar else { return }
        let folder = directory.descriptor
        drop(StaleSidecars.Sidecar(folder: folder, name: sidecar.name, directory: folder, entry: stored.name))
    }

    func drop(_ sidecar: StaleSidecars.Sidecar) {
        sidecars.add(sidecar)
        // A failure leaves them for the next time.
        if sidecars.count > Self.mostStaleSidecars { try? dropSidecars() }
    }

    /// Removes the sidecars whose entries are durably gone.
    func dropSidecars() throws(VaultError) {
        let stale = sidecars.all
        var folders: [Descriptor] = []
        for sidecar in stale where !folders.contains(where: { $0 === sidecar.directory }) {
            folders.append(sidecar.directory)
        }
        for folder in folders {
            try flush(folder: folder)
        }
        for sidecar in stale { sidecars.remove(sidecar, in: self) }
    }
}
