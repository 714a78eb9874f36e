import Format
import Freshness
import Posix
import Store

// Extended attributes and the targets of symbolic links have no generation, but each value that is written has a random
// nonce. So this machine remembers the nonces of those that it has itself replaced or removed.

extension Vault {
    /// Of the nonce of a value, 16 bytes. A nonce can be planted by who has no keys: it must not lead to another mark.
    func markKey(ofValue nonce: [UInt8]) -> MarkKey { MarkKey(value: unsafe keys.bindings.tag(of: nonce.span.bytes)) }

    /// The nonce's mark, if values are remembered. It must be that of a value that was authentic.
    func noteGone(value nonce: [UInt8]?) {
        guard let freshness, freshness.remembers, let nonce, nonce.count >= 16 else { return }
        let key = markKey(ofValue: nonce)
        freshness.marks.noteGone(value: key)
        freshness.accepted(key)
    }

    /// A value of an attribute was replaced or removed. A copy program that does not know of hard links may have made
    /// several files of one: then another file may have that value still.
    func noteGone(value nonce: [UInt8]?, of owner: AttributeSubject) {
        guard let freshness, freshness.remembers, nonce != nil, !((try? mayHaveDuplicates(owner)) ?? true) else {
            return
        }
        noteGone(value: nonce)
    }

    /// Compares a value that was found; nil if this machine has neither replaced nor removed it.
    func staleness(
        ofValue nonce: [UInt8], _ kind: StaleObject.Kind, _ place: @autoclosure () -> StaleObject.Place?
    ) -> StaleObject? {
        // In a synchronised vault another machine's version of a file may have the value that this one has replaced.
        guard let freshness, !isSynchronised else { return nil }
        let key = markKey(ofValue: nonce)
        guard let known = freshness.marks[key], known.isGone, known.kind == .value else { return nil }
        // Without a place it is told of all the same.
        return StaleObject(
            kind: kind, verdict: .back, remembered: known, written: nil, place: place() ?? .inode(0), key: key)
    }

    /// Compares a value that was found, and notes it if it is older; throws if it is refused for that.
    ///
    /// - Parameter isThere: whether it is still what is stored: this process may have replaced it since it was read.
    func compare(
        value nonce: [UInt8], _ kind: StaleObject.Kind, _ place: @autoclosure () -> StaleObject.Place?,
        isThere: () -> Bool
    ) throws(VaultError) {
        guard let freshness, let stale = staleness(ofValue: nonce, kind, place()), isThere() else { return }
        freshness.tell(stale)
        if freshness.answer == .refuse { throw .stale("\(stale.reason)") }
    }

    func place(of owner: AttributeSubject) -> StaleObject.Place? {
        (try? store.status(of: owner.descriptor)).map { .inode($0.inode) }
    }

    // MARK: Attributes

    /// The first attribute of something that is older than what this machine has seen.
    package func staleAttribute(of owner: AttributeSubject) -> StaleObject? {
        guard freshness != nil else { return nil }
        var found: StaleObject?
        forEachValue(of: owner) { nonce, name in
            found = found ?? staleness(ofValue: nonce, .attribute(name), place(of: owner))
        }
        return found
    }

    /// All attributes of something are there on purpose.
    func acceptAttributes(of owner: AttributeSubject) throws(VaultError) {
        guard let freshness else { return }
        var isOlder = false
        forEachValue(of: owner) { nonce, _ in
            let key = markKey(ofValue: nonce)
            guard let known = freshness.marks[key], known.isGone, known.kind == .value else { return }
            isOlder = true
            guard freshness.remembers else { return }
            freshness.marks.accept(value: key)
            freshness.accepted(key)
        }
        if isOlder, !freshness.remembers { throw .system(.EROFS) }
    }

    /// Calls `body` with the nonce and the name of each attribute that is stored; without a name for the sidecar's.
    private func forEachValue(of owner: AttributeSubject, _ body: ([UInt8], [UInt8]?) -> Void) {
        for stored in (try? store.attributeNames(of: owner.descriptor)) ?? [] {
            guard let stored = AttributeName(backing: stored, owner.prefix) else { continue }
            guard let value = try? storedValue(of: stored, of: owner), let nonce = stored.nonce(in: value),
                let name = plainName(ofAttribute: stored, value, of: owner)?.name
            else { continue }
            body(nonce, name)
        }
        guard owner.hasSidecar, let nonce = sidecarNonce(of: owner.identifier) else { return }
        body(nonce, nil)
    }

    /// The nonce of a stored attribute that opens; nil of any other value.
    func authenticNonce(of stored: AttributeName, _ value: [UInt8]?, _ owner: AttributeSubject) -> [UInt8]? {
        guard freshness?.remembers ?? false, let value, let nonce = stored.nonce(in: value),
            let found = plainName(ofAttribute: stored, value, of: owner),
            (try? openValue(value.dropFirst(found.noteCount), of: found.name, owner.identifier)) != nil
        else { return nil }
        return nonce
    }

    /// The nonce of an owner's sidecar; nil if it has none.
    func sidecarNonce(of owner: [UInt8]) -> [UInt8]? {
        guard let folder = try? openAttributes(),
            let bytes = try? sidecarBytes(.attributes(of: owner), in: folder), bytes.count >= 16
        else { return nil }
        return Array(bytes.prefix(16))
    }

    // MARK: Links

    /// The nonce of a symbolic link that is about to lose its last name; nil for anything else.
    func nonce(ofLast stored: Name, _ status: FileStatus, in folder: Descriptor) -> [UInt8]? {
        guard freshness?.remembers ?? false, status.kind == .symbolicLink, status.linkCount == 1 else { return nil }
        guard let sealed = try? sealedTarget(stored, in: folder), (try? openTarget(sealed)) != nil else { return nil }
        return Array(sealed.prefix(16))
    }

    /// Whether a symbolic link is still there.
    func isStored(_ nonce: [UInt8], as stored: Name, in folder: Descriptor) -> Bool {
        do throws(Errno) {
            guard try store.status(of: stored, in: folder).kind == .symbolicLink else { return false }
        } catch { return error != .ENOENT }
        return (try? sealedTarget(stored, in: folder)).map { $0.starts(with: nonce) } ?? true
    }
}

extension AttributeName {
    /// The nonce of a stored value; nil if it has none.
    func nonce(in value: [UInt8]) -> [UInt8]? {
        if case .continuation = self { return nil }
        guard let note = noteCount(in: value), value.count >= note + 16 else { return nil }
        return Array(value[note..<note + 16])
    }
}
