/// The kind of a name in a vault's folder, as its bytes alone show it.
public enum BackingName: Hashable, Sendable {
    /// `lk.keybag`, `lk.lock` and the like, and directory records: part of the vault, not an entry.
    case reserved
    /// `lk.tmp.R`: under construction or being removed, or an orphan.
    case temporary
    /// An entry, with the ciphertext of its name.
    case entry(ciphertext: [UInt8])
    /// An entry with a long name; its ciphertext is in the sidecar.
    case longEntry
    /// The sidecar of a long name.
    case sidecar
    /// Not the vault's: it is not shown, and prevents rmdir(2).
    case foreign

    public static let keybag = "lk.keybag"
    public static let newKeybag = "lk.keybag.new"
    public static let oldKeybag = "lk.keybag.old"
    public static let lock = "lk.lock"
    /// In the root of an erased vault.
    public static let erased = "lk.erased"
    public static let journal = "lk.journal"
    public static let directoryRecord = "lk.dir"
    public static let newDirectoryRecord = "lk.dir.new"
    public static let longPrefix = "lk.long."
    public static let sidecarSuffix = ".name"
    public static let temporaryPrefix = "lk.tmp."
    /// A folder in the root, for targets of symbolic links that are too long for the store's links.
    public static let targets = "lk.targets"
    /// A folder in the root, for open files without a name.
    public static let nameless = "lk.nameless"
    /// A folder in the root, for the records of who works with the vault.
    public static let claims = "lk.claims"
    /// A file in the root, of which machines that work in the vault together lock bytes.
    public static let leases = "lk.leases"
    /// A folder in the root, for the records of these machines.
    public static let members = "lk.members"
    /// Stands before the number of a machine, in 16 lower-case hexadecimal digits.
    public static let memberPrefix = "lk.member."
    public static let longTargetPrefix = "lk.target."
    /// A folder in the root, for attributes that the store does not take.
    public static let attributes = "lk.attributes"
    /// Stands before the ID of the owner of attributes, in 32 lower-case hexadecimal digits.
    public static let attributesPrefix = "lk.attributes."
    /// The beginning of the name of a directory that a crash has left without a record; such a name is foreign.
    public static let lostPrefix = "lk.lost."

    /// Of what is moved up to be removed, in the folder of a vault that is erased: foreign.
    public static let removedPrefix = "lk.removed."

    private static let reservedNames: Set<[UInt8]> = Set(
        [
            keybag, newKeybag, oldKeybag, lock, erased, journal, directoryRecord, newDirectoryRecord, targets, nameless,
            claims, attributes, leases, members,
        ].map { Array($0.utf8) })
    private static let longPrefixBytes = Array(longPrefix.utf8)
    private static let sidecarSuffixBytes = Array(sidecarSuffix.utf8)
    private static let temporaryPrefixBytes = Array(temporaryPrefix.utf8)
    /// The length of a SHA-256 as base64url.
    private static let hashTextCount = 43
    /// In bytes: a tag of 16 and at least one of the name.
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
        if Self.reservedNames.contains(name) || Self.machine(ofRecordCopy: name) != nil
            || Self.machine(ofJournal: name) != nil
        {
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

extension BackingName {
    /// The ID, 16 bytes, of the owner of the attributes in a file of `lk.attributes`; nil if the name is not such a
    /// file's.
    public static func attributesOwner(_ name: [UInt8]) -> [UInt8]? {
        let text = String(decoding: name, as: UTF8.self)
        guard text.hasPrefix(attributesPrefix),
            let owner = [UInt8](hexadecimal: String(text.dropFirst(attributesPrefix.count))),
            owner.count == 16, attributesPrefix + String(hexadecimal: owner) == text
        else { return nil }
        return owner
    }
}
