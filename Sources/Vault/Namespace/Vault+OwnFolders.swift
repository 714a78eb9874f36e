import Format
import Posix
import Store

extension Vault {
    /// Opens one of the vault's own folders in the root, and makes it if it is missing, with mode 0700. Not durable.
    ///
    /// It is opened anew each time: another program may have replaced it, as one that synchronizes folders does.
    func makeOwnFolder(_ name: Name) throws(VaultError) -> Descriptor {
        try backing { () throws(Errno) in
            do throws(Errno) {
                try store.makeDirectory(name, in: store.root, mode: 0o700)
            } catch {
                guard error == .EEXIST else { throw error }
            }
            return try store.open(name, in: store.root, OpenFlags.directory, mode: 0)
        }
    }
}
