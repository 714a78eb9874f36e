/// Everything that the vault's owner ever wrote, keyed by its stored form. Anything else in the vault's folder was made
/// without the keys.
public struct Knowledge: Sendable {
    struct Folder {
        let identifier: [UInt8]
        let protection: SeenClass
    }

    /// Keyed by all 512 bytes.
    var headers: [[UInt8]: StoredHeader] = [:]
    /// Plaintext by file ID, block number and stored bytes.
    var blocks: [[UInt8]: [Int: [[UInt8]: [UInt8]]]] = [:]
    /// The backing path and the name binding (16 bytes) of each path of the mount.
    public internal(set) var backing: [String: String] = [:]
    var bindings: [String: [UInt8]] = [:]
    /// A directory's records, by its path and their text.
    var records: [String: [[UInt8]: Folder]] = [:]
    /// Contents of the sidecars of long names, by the entry's backing path.
    var sidecars: [String: [UInt8]] = [:]
    var targets: [[UInt8]: [UInt8]] = [:]
    /// Names of attributes, by the owner's ID and their stored names; then their values.
    var attributeNames: [[UInt8]: [String: String]] = [:]
    var attributeValues: [[UInt8]: [String: [[UInt8]: [UInt8]]]] = [:]

    public init() {}

    /// All present and past paths of the mount; a folder comes before its contents.
    public var paths: [String] { backing.keys.sorted() }

    /// Learns a written file, with the plaintext that only its owner knows.
    mutating func learn(file bytes: [UInt8], contents: [UInt8]) {
        let raw = Array(bytes[..<StoredHeader.size])
        let header = StoredHeader(raw)
        headers[raw] = header
        for k in 0..<header.blockCount {
            let room = StoredHeader.room(k, in: bytes.count)
            let stored = Array(bytes[room].prefix(header.live(k) + StoredHeader.overhead))
            guard stored.contains(where: { $0 != 0 }) else { continue }
            let start = StoredHeader.block * k
            blocks[header.file, default: [:]][k, default: [:]][stored] =
                Array(contents[start..<start + header.live(k)])
        }
    }

    mutating func learn(_ attributes: [String: [UInt8]], named plain: [String: [UInt8]], of owner: [UInt8]) {
        for (stored, value) in attributes {
            guard let name = attributeNames[owner]?[stored], let known = plain[name] else { continue }
            attributeValues[owner, default: [:]][name, default: [:]][value] = known
        }
    }
}
