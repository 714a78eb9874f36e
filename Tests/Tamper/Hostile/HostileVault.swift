import Foundation

/// A vault whose maker knew its keys: every tag is right, and what it stands over is not.
public struct HostileVault: Sendable {
    public let name: String
    public var image: BackingImage
    /// How long backing files are: what is missing is a hole.
    public var sizes: [String: Int64] = [:]
    /// Times of modification of backing files, in seconds since 1970.
    public var times: [String: Int64] = [:]
    /// Names in the vault that are hard links to files beside it, by their names there.
    public var hardLinks: [String: String] = [:]
    /// Folders in which stand so many, one in the other.
    public var depths: [String: Int] = [:]
    /// Nothing is wrong but with entries, of which each is a matter of its own.
    public var isMountable = false
    /// One that has been found to be harmful once: it belongs to each sample.
    public var isKnown = false
    /// What a passcode is said to cost; more memory than anything else may take.
    public var isCostly = false

    init(_ name: String, _ image: BackingImage) {
        self.name = name
        self.image = image
    }
}

/// Where hostile vaults come from: a good one, its keys, and what lies beside it.
public final class HostileScene {
    public let tampering: TamperScene
    /// The folder beside the vault that planted links lead to, absolute.
    let outside: String
    let forge: Forge
    /// The vault as its daemon left it when it was killed: what is durable is in the journal alone.
    let crashed: BackingImage

    /// What there has to be in `outside`, by name.
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

    /// All of them, each made when it is wanted.
    public var vaults: [() -> HostileVault] {
        headers + directories + names + attributes + links + planted + keybags + rotations + journalHeads
            + journalRecords + journalPaths + depths
    }
}

enum Edges {
    /// Ends of integers, of what the format allows, and of what kernel and disk take.
    static let all: [UInt64] = [
        0, 1, 2, 3, 12, 13, 14, 31, 32, 33, 119, 120, 121, 127, 128, 255, 256, 4095, 4096, 4097, 8192, 8193, 65_535,
        65_536, 999_999_999, 1_000_000_000, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 50) - 1,
        1 << 50, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, .max - 1, .max,
    ]

    /// Those that an integer of so many bytes holds.
    static func of(_ count: Int) -> [UInt64] {
        count == 8 ? all.filter { $0 < 4 || $0 > 4000 } : all.filter { $0 < 1 << (8 * UInt64(count)) }
    }
}
