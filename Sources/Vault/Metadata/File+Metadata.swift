import Posix
import Store

extension File {
    /// Has the time of access moved as a read moves it, which `read` does not. Whether it moves is for the backing
    /// store's file system to say; it is asked once, until a change or a day has passed: mount(8), relatime.
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
        try vault.setMode(mode, of: AttributeOwner.file(self).subject)
        touch()
    }

    public func setOwner(user: UInt32?, group: UInt32?) throws(VaultError) {
        forgetAccess()
        try vault.changeBacking(.setOwner(user: user, group: group, of: .file(descriptor)))
        touch()
    }
}

// MARK: Capabilities

extension File {
    private static let capabilities = Array("security.capability".utf8)

    /// Removes the capabilities that a program gets which is executed from the file: what it holds is not what they
    /// were given to.
    ///
    /// Source: capabilities(7), "File capabilities".
    public func dropCapabilities() throws(VaultError) {
        guard mayHaveCapabilities.load(ordering: .relaxed) else { return }
        do throws(VaultError) { try vault.removeAttribute(Self.capabilities, of: .file(self)) } catch {
            guard error == .system(.ENODATA) || error == .system(.EOPNOTSUPP) else { throw error }
        }
        mayHaveCapabilities.store(false, ordering: .relaxed)
    }

    /// Whether it is known without a look that it has no such attribute.
    public func isKnownToLack(_ name: [UInt8]) -> Bool {
        !mayHaveCapabilities.load(ordering: .relaxed) && name == Self.capabilities
    }

    /// It is about to get an attribute.
    func noteCapabilities(_ name: [UInt8]) {
        if name == Self.capabilities { mayHaveCapabilities.store(true, ordering: .relaxed) }
    }
}
