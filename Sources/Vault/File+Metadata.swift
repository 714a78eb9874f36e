import Posix
import Store

extension File {
    public func setMode(_ mode: UInt32) throws(VaultError) {
        try vault.changeBacking(.setMode(mode, of: .file(descriptor)))
    }

    public func setOwner(user: UInt32?, group: UInt32?) throws(VaultError) {
        try vault.changeBacking(.setOwner(user: user, group: group, of: .file(descriptor)))
    }
}
