import Posix
import Store

extension File {
    /// Has the time of access moved as a read moves it, which `read` does not. Whether it moves is for the backing store's
    /// file system to say; it is asked once, until a change or a day has passed: mount(8), relatime.
    public func noteAccess() {
        let now = Timespec.now.seconds
        guard !vault.isReadOnly, abs(now - noted.load(ordering: .relaxed)) >= 86_400 else { return }
        noted.store(now, ordering: .relaxed)
        // Of no consequence for what was read.
        try? vault.store.noteAccess(to: descriptor)
    }

    /// The file changes: the next access is one to be noted.
    func forgetAccess() { noted.store(0, ordering: .relaxed) }

    public func setMode(_ mode: UInt32) throws(VaultError) {
        forgetAccess()
        try vault.changeBacking(.setMode(mode, of: .file(descriptor)))
    }

    public func setOwner(user: UInt32?, group: UInt32?) throws(VaultError) {
        forgetAccess()
        try vault.changeBacking(.setOwner(user: user, group: group, of: .file(descriptor)))
    }
}
