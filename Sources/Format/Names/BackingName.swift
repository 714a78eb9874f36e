/// What a name in a vault's folder is, told from its bytes alone.
public enum BackingName: Hashable, Sendable {
    /// `lk.keybag`, `lk.lock` and the like, and directory records: part of the vault, no entry.
    case reserved
    /// `lk.tmp.R`: under construction or being removed, or rubbish of a crash.
    case temporary
    /// An entry: the ciphertext of its name.
    case entry(ciphertext: [UInt8])
    /// An entry with a long name; its ciphertext is in the sidecar.
    case longEntry
    /// The sidecar of a long name.
    case sidecar
    /// Not ours: shown by nobody, in the way of rmdir.
    case foreign

    public static let keybag = "lk.keybag"
    public static let newKeybag = "lk.keybag.new"
    public static let oldKeybag = "lk.keybag.old"
    public static let lock = "lk.lock"
    public static let journal = "lk.journal"
    public static let directoryRecord = "lk.dir"
    public static let newDirectoryRecord = "lk.dir.new"
    public static let longPrefix = "lk.long."
    public static let sidecarSuffix = ".name"
    public static let temporaryPrefix = "lk.tmp."
    /// A folder in the root: targets of symbolic links that are too long for the store's.
    public static let targets = "lk.targets"
    /// A folder in the root: files that have no name yet.
    public static let nameless = "lk.nameless"
    public static let longTargetPrefix = "lk.target."
    /// Of what a crash has left of a directory: foreign.
    public static let lostPrefix = "lk.lost."

    private static let reservedNames: Set<[UInt8]> = Set(
        [keybag, newKeybag, oldKeybag, lock, journal, directoryRecord, newDirectoryRecord, targets, nameless].map {
            Array($0.utf8)
        })
    private static let longPrefixBytes = Array(longPrefix.utf8)
    private static let sidecarSuffixBytes = Array(sidecarSuffix.utf8)
    private static let temporaryPrefixBytes = Array(temporaryPrefix.utf8)
    /// Characters of base64url of a SHA-256.
    private static let hashTextCount = 43
    /// A tag of 16 bytes and at least one byte of name.
    private static let smallestCiphertext = 17

    public init(_ name: [UInt8]) {
        guard name.contains(UInt8(ascii: ".")) else {
            if let ciphertext = Base64URL.decode(name), ciphertext.count >= Self.smallestCiphertext {
                self = .entry(ciphertext: ciphertext)
            } else {
                self = .foreign
            }
            return
        }
        if Self.reservedNames.contains(name) {
            self = .reserved
        } else if name.starts(with: Self.temporaryPrefixBytes) {
            self = .temporary
        } else if name.starts(with: Self.longPrefixBytes) {
            let rest = Array(name.dropFirst(Self.longPrefixBytes.count))
            guard let hash = Base64URL.decode(Array(rest.prefix(Self.hashTextCount))), hash.count == 32 else {
                self = .foreign
                return
            }
            switch Array(rest.dropFirst(Self.hashTextCount)) {
            case []: self = .longEntry
            case Self.sidecarSuffixBytes: self = .sidecar
            default: self = .foreign
            }
        } else {
            self = .foreign
        }
    }
}
