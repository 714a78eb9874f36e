import Posix
import Store

extension File {
    public func setMode(_ mode: UInt32) throws(VaultError) {
        try vault.changeBacking(.setMode(mode, of: .file(descriptor)))
    }

    public func setOwner(user: UInt32?, group: UInt32?) throws(VaultError) {
        try vault.changeBacking(.setOwner(user: user, group: group, of: .file(descriptor)))
    }

    /// Sets the times. A length that the header does not have yet is written first: closing must not move them again.
    public func setTimes(accessed: TimeChange, modified: TimeChange) throws(VaultError) {
        if lock.withShared({ !state.unsettled.isJournaled }) { try persistLength() }
        // A change of the header puts the time back that it found: not an older one over this.
        try lock.withExclusive { () throws(VaultError) in
            var modified = modified
            if state.unsettled.isJournaled || state.unsettled.modified != nil {
                // The backing file is changed later: who copies it by its time must see that.
                switch modified {
                case .keep: break
                case .now: state.unsettled.modified = .now
                case .at(let time): state.unsettled.modified = time
                }
                modified = .keep
                state.unsettled.isSynced = false
                state.unsettled.isHeaderCurrent = false
            }
            try backing { () throws(Errno) in
                try vault.store.setTimes(accessed: accessed, modified: modified, of: descriptor)
            }
        }
    }
}
