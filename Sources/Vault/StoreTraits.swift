import Format
import Glibc
import Posix
import Store

/// What a backing store can do. It is probed once, when the vault is made.
public struct StoreTraits: Hashable, Sendable {
    /// The longest name that the store takes, in bytes.
    public var nameMax: Int
    /// How the vault keeps directory records.
    public var recordKind: RecordKind
    /// Whether each change of a directory record gets a higher generation. It is a setting of the vault.
    public var numbersDirectories: Bool
    /// Whether a new file has numbered blocks. It is a setting of the vault.
    public var numbersBlocks: Bool
    /// Whether the store takes extended attributes of users. Without them the vault keeps them in sidecars.
    public var hasAttributes: Bool
    /// Whether names that differ in case alone are two. A vault cannot live in a store where they are one.
    public var isCaseSensitive: Bool
    /// Whether a hard link gives one inode two names. Where each name is an inode of its own, a vault would take one
    /// file for two, and lose changes: then it makes no links.
    public var hasHardLinks: Bool
    /// Whether an inode keeps its number while nothing has it open. Where it does not, the same file or directory under
    /// the same name may have another number later, so only its ID identifies it.
    public var keepsInodeNumbers: Bool

    /// Whether an open descriptor keeps the number of its inode from being used for another one. A server does not know
    /// what its clients have open.
    public var pinsOpenInodes: Bool

    public enum RecordKind: UInt8, Sendable {
        case symbolicLink = 1
        case file = 2
    }

    public init(
        nameMax: Int, recordKind: RecordKind, numbersDirectories: Bool = true, numbersBlocks: Bool = true,
        hasAttributes: Bool = true, isCaseSensitive: Bool = true, hasHardLinks: Bool = true,
        keepsInodeNumbers: Bool = true, pinsOpenInodes: Bool = true
    ) {
        self.nameMax = nameMax
        self.recordKind = recordKind
        self.numbersDirectories = numbersDirectories
        self.numbersBlocks = numbersBlocks
        self.hasAttributes = hasAttributes
        self.isCaseSensitive = isCaseSensitive
        self.hasHardLinks = hasHardLinks
        self.keepsInodeNumbers = keepsInodeNumbers
        self.pinsOpenInodes = pinsOpenInodes
    }

    /// Probes the store in its root, with temporary names that are gone afterwards.
    public static func probe(_ store: any Store) throws(Errno) -> StoreTraits {
        var traits = StoreTraits(nameMax: 255, recordKind: .symbolicLink)
        traits.nameMax = min(255, Int(clamping: try store.statistics().maximumNameLength))
        let link = Name.temporary()
        do {
            try store.makeSymbolicLink(
                to: [UInt8](repeating: UInt8(ascii: "x"), count: DirectoryRecord.sealedTextCount), link, in: store.root)
            try store.unlink(link, in: store.root)
        } catch {
            // What file systems answer that have none; those over object stores and SMB EIO, ENOENT and ENOSYS.
            guard [.EPERM, .EOPNOTSUPP, .ENOSYS, .EIO, .ENOENT].contains(error) else { throw error }
            traits.recordKind = .file
        }
        let lower = Name.temporary(suffix: "case")
        let upper = Name(bytes: lower.bytes.dropLast(4) + Array("CASE".utf8))!
        defer { try? store.unlink(lower, in: store.root) }
        try traits.probe(lower, upper, in: store)
        return traits
    }

    /// Closes the file before it is removed: not every store removes an open one.
    private mutating func probe(_ lower: Name, _ upper: Name, in store: any Store) throws(Errno) {
        let file = try store.open(lower, in: store.root, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        do {
            _ = try store.status(of: upper, in: store.root)
            isCaseSensitive = false
        } catch {
            guard error == .ENOENT else { throw error }
        }
        do {
            try store.setAttribute(AttributeName.Prefix.user.rawValue + "probe", to: [1], flags: 0, of: file)
        } catch {
            hasAttributes = false
        }
    }
}
