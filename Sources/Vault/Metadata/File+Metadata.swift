import Posix
import Store

extension File {
    /// Lets the backing file system move the time of access as a read would: `read` does not. The file system decides
    /// whether it moves; it is asked again after a change or a day, as mount(8) says of relatime.
    public func noteAccess() {
        let now = Timespec.now.seconds
        guard !vault.isReadOnly, abs(now - marks.noted.load(ordering: .relaxed)) >= 86_400 else { return }
        marks.noted.store(now, ordering: .relaxed)
        // A failure does not affect the read.
        try? vault.store.noteAccess(to: descriptor)
    }

    /// After a change of the file, the next access is noted again.
    func forgetAccess() { marks.noted.store(0, ordering: .relaxed) }

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

    /// Removes the capabilities of an executable file, because its contents change: they were given to the old
    /// contents.
    ///
    /// Source: capabilities(7), "File capabilities".
    public func dropCapabilities() throws(VaultError) {
        guard marks.mayHaveCapabilities.load(ordering: .relaxed) else { return }
        do throws(VaultError) { try vault.removeAttribute(Self.capabilities, of: .file(self)) } catch {
            guard error == .system(.ENODATA) || error == .system(.EOPNOTSUPP) else { throw error }
        }
        marks.mayHaveCapabilities.store(false, ordering: .relaxed)
    }

    /// Whether the file is known to lack this attribute, without asking the store.
    public func isKnownToLack(_ name: [UInt8]) -> Bool {
        !marks.mayHaveCapabilities.load(ordering: .relaxed) && name == Self.capabilities
    }

    /// Notes that the file is about to get an attribute.
    func noteCapabilities(_ name: [UInt8]) {
        if name == Self.capabilities { marks.mayHaveCapabilities.store(true, ordering: .relaxed) }
    }
}
