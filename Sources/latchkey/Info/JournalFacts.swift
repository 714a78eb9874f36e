import Format
import Glibc
import Keybag
import Posix
import Store
import Vault

/// What the journal of a vault says without a passcode.
struct JournalFacts: Encodable {
    /// The size of its file.
    let bytes: UInt64
    /// Whether the last session ended cleanly; nil while a daemon uses the vault, or if the head cannot be read.
    let isClean: Bool?
    /// Whether its head is what the keys of the vault have signed; nil without the keys, or while a daemon uses it.
    let isVerified: Bool?

    /// Nil if the vault has none, as before its first mount.
    ///
    /// - Parameter machine: this machine, if the vault is synchronised.
    init?(in store: DirectoryStore, isMounted: Bool, _ keys: VolumeKeys?, of machine: MachineTag?) {
        let flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW
        // Of the time before the vault became a synchronised one, if this machine has none of its own yet.
        let names = (machine.map { [Name(ascii: BackingName.machineJournalPrefix + "\($0)")] } ?? []) + [.journal]
        let file = names.lazy.compactMap { try? store.open($0, in: store.root, flags) }.first
        guard let file, let status = try? store.status(of: file),
            status.kind == .regular
        else { return nil }
        bytes = UInt64(max(0, status.size))
        guard !isMounted else {
            (isClean, isVerified) = (nil, nil)
            return
        }
        var start = [UInt8](repeating: 0, count: JournalHead.byteCount)
        let count: Int?
        do {
            var elements = start.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try? store.read(file, into: &span, at: 0)
        }
        let head = count == start.count ? try? unsafe JournalHead(decoding: start.span.bytes) : nil
        isClean = head.map { $0.opened == 0 }
        isVerified = keys.map { keys in head.map { JournalHead.signed($0, keys) == start } ?? false }
    }

    var text: Printable {
        let state: Printable =
            switch (isClean, isVerified) {
            case (_, false?): "its head is damaged or was changed"
            case (true?, _): "closed cleanly"
            case (false?, _): "not closed cleanly: the next mount applies what it holds"
            case (nil, _): "in use"
            }
        return "\(Amount.bytes(bytes)), \(state)"
    }
}
