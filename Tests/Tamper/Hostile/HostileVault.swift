import Foundation

/// A vault whose maker knew its keys: every tag is right, and what it covers is wrong.
public struct HostileVault: Sendable {
    public let name: String
    public var image: BackingImage
    /// The lengths of backing files: what the bytes do not fill is a hole.
    public var sizes: [String: Int64] = [:]
    /// Modification times of backing files, in seconds since 1970.
    public var times: [String: Int64] = [:]
    /// Names in the vault that are hard links to files beside the vault, by those files' names.
    public var hardLinks: [String: String] = [:]
    /// Folders with this many folders nested in them.
    public var depths: [String: Int] = [:]
    /// Only entries are hostile, and each independently of the others.
    public var isMountable = false
    /// A vault that was harmful once: each sample includes it.
    public var isKnown = false
    /// The passcode's stated cost needs more memory than any other hostile vault may take.
    public var isCostly = false

    init(_ name: String, _ image: BackingImage) {
        self.name = name
        self.image = image
    }
}

/// The source of hostile vaults: a sound vault, its keys, and the folder beside it.
public final class HostileScene {
    public let tampering: TamperScene
    /// The folder beside the vault that planted links lead to, absolute.
    let outside: String
    let forge: Forge
    /// The vault as its killed daemon left it: all durable changes are in the journal alone.
    let crashed: BackingImage

    /// The files that must be in `outside`, by name.
    public static let bait: [String: [UInt8]] = [
        "empty": [], "short": Array("not the vault's\n".utf8), "long": [UInt8](of: "outside", version: 1, count: 9000),
        "folder/file": Array("not the vault's either\n".utf8), "folder/lk.tmp.planted": [1, 2, 3],
        "folder/lk.target.AAAAAAAAAAAAAAAAAAAAAA": [1, 2, 3],
    ]

    public init(outside: String) throws {
        tampering = try TamperScene()
        self.outside = outside
        forge = try Forge(tampering, deviceKey: Array(Data(contentsOf: URL(fileURLWithPath: tampering.keyPath))))
        crashed = try JournalBench(tampering, .all).current
    }

    var good: BackingImage { tampering.current }

    /// All hostile vaults, each made when it is needed.
    public var vaults: [() -> HostileVault] {
        headers + directories + names + attributes + links + planted + keybags + rotations + journalHeads
            + journalRecords + journalPaths + depths
    }
}

enum Edges {
    /// Limits of integers, of what the format allows, and of what kernel and disk accept.
    static let all: [UInt64] = [
        0, 1, 2, 3, 12, 13, 14, 31, 32, 33, 119, 120, 121, 127, 128, 255, 256, 4095, 4096, 4097, 8192, 8193, 65_535,
        65_536, 999_999_999, 1_000_000_000, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 50) - 1,
        1 << 50, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, .max - 1, .max,
    ]

    /// The limits that fit in an integer of this many bytes.
    static func of(_ count: Int) -> [UInt64] {
        count == 8 ? all.filter { $0 < 4 || $0 > 4000 } : all.filter { $0 < 1 << (8 * UInt64(count)) }
    }
}
