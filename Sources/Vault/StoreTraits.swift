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
    /// Whether the store takes extended attributes of users. Without them a mount shows only the class.
    public var hasAttributes: Bool
    /// Whether names that differ in case alone are two. A vault cannot live in a store where they are one.
    public var isCaseSensitive: Bool

    public enum RecordKind: UInt8, Sendable {
        case symbolicLink = 1
        case file = 2
    }

    public init(nameMax: Int, recordKind: RecordKind, hasAttributes: Bool = true, isCaseSensitive: Bool = true) {
        self.nameMax = nameMax
        self.recordKind = recordKind
        self.hasAttributes = hasAttributes
        self.isCaseSensitive = isCaseSensitive
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
            guard error == .EPERM || error == .EOPNOTSUPP || error == .ENOSYS else { throw error }
            traits.recordKind = .file
        }
        let lower = Name.temporary(suffix: "case")
        let upper = Name(bytes: lower.bytes.dropLast(4) + Array("CASE".utf8))!
        let file = try store.open(lower, in: store.root, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        defer { try? store.unlink(lower, in: store.root) }
        do {
            _ = try store.status(of: upper, in: store.root)
            traits.isCaseSensitive = false
        } catch {
            guard error == .ENOENT else { throw error }
        }
        do {
            try store.setAttribute(AttributeName.Prefix.user.rawValue + "probe", to: [1], flags: 0, of: file)
        } catch {
            traits.hasAttributes = false
        }
        return traits
    }
}
