import Crypto
import Format
import Posix
import Store

/// Names in the backing folder, base64url, attribute names, class names, and the sidecars of long names.
///
/// The first byte of an input says what the other bytes are.
final class NameParser: FuzzedParser {
    private let planted: PlantedVault

    init() throws { planted = try PlantedVault() }

    func run(_ input: [UInt8]) throws(Finding) {
        guard let kind = input.first else { return }
        let payload = Array(input.dropFirst())
        switch kind % 4 {
        case 0: try classify(payload)
        case 1: try encryptName(payload)
        case 2: try listSidecar(of: payload)
        default: try listSidecar(of: try seal(payload))
        }
    }

    // MARK: - Bytes alone

    private func classify(_ name: [UInt8]) throws(Finding) {
        let decoded = Base64URL.decode(name)
        if let decoded { try demand(Base64URL.encode(decoded) == name, "base64url has two texts for \(decoded)") }
        let text = Base64URL.encode(name)
        try demand(text.count == Base64URL.encodedCount(name.count), "base64url is not as long as it says")
        try demand(Base64URL.decode(text) == name, "base64url does not read what it wrote")

        let hasPoint = name.contains(UInt8(ascii: "."))
        switch BackingName(name) {
        case .entry(let ciphertext):
            try demand(!hasPoint && decoded == ciphertext && ciphertext.count > 16, "an entry of \(ciphertext)")
        case .longEntry:
            let sidecar = name + Array(BackingName.sidecarSuffix.utf8)
            try demand(name.count == 51 && BackingName(sidecar) == .sidecar, "an entry without a sidecar")
        case .sidecar:
            try demand(BackingName(Array(name.dropLast(5))) == .longEntry, "a sidecar without an entry")
        case .reserved, .temporary:
            try demand(name.starts(with: "lk.".utf8), "a name of ours without our prefix")
        case .foreign:
            try demand(hasPoint || decoded == nil || name.count < 23, "an entry taken for a foreign name")
        }

        let string = String(decoding: name, as: UTF8.self)
        for prefix in [AttributeName.Prefix.user, .trusted] {
            guard let attribute = AttributeName(backing: string, prefix) else { continue }
            try demand(attribute.backing(prefix) == string, "an attribute has two names")
            try demand(string.utf8.elementsEqual(name), "an attribute's name that is not UTF-8")
            if case .continuation(let nonce) = attribute { try demand(nonce.count == 16, "a continuation of no value") }
        }
        if let found = ProtectionClass(attributeValue: string) {
            let names = [found.name, found.letter, found.letter.lowercased(), found.appleName]
            try demand(names.contains { $0.utf8.elementsEqual(name) }, "a class named \(name)")
        }
    }

    // MARK: - Through a vault

    private func seal(_ plain: [UInt8]) throws(Finding) -> [UInt8] {
        try demandSuccess(of: "sealing a name") { () throws(CryptoError) in
            try planted.keys.names.seal(plain, associatedData: PlantedVault.rootID.bytes)
        }
    }

    /// An entry under an encrypted name is listed under its plain name, and no other entry is listed.
    private func encryptName(_ plain: [UInt8]) throws(Finding) {
        guard let name = Name(bytes: plain), !name.isDotOrDotDot else { return }
        let ciphertext = try seal(plain)
        let stored = try demandSuccess(of: "encrypting a name") {
            try planted.vault.backingPath(of: name, in: planted.root, at: "")
        }
        switch BackingName(Array(stored.utf8)) {
        case .entry(let bytes):
            try demand(bytes == ciphertext && stored.utf8.count <= 255, "a name with another ciphertext")
            try list([Name(bytes: stored.utf8)!: []], shows: [name])
        case .longEntry:
            try demand(Base64URL.encodedCount(ciphertext.count) > 255, "a sidecar for a short name")
            try listSidecar(of: ciphertext)
        default: throw Finding("a name that is stored as no entry: \(stored)")
        }
    }

    /// A sidecar that belongs to its entry is shown if it is the ciphertext of a valid name.
    private func listSidecar(of ciphertext: [UInt8]) throws(Finding) {
        let entry = "lk.long.\(String(decoding: Base64URL.encode(sha256(ciphertext)), as: UTF8.self))"
        let plain = try? planted.keys.names.open(ciphertext, associatedData: PlantedVault.rootID.bytes)
        var shown: [Name] = []
        if let plain, let name = Name(bytes: plain), !name.isDotOrDotDot { shown = [name] }
        try list([Name(bytes: entry.utf8)!: [], Name(bytes: (entry + ".name").utf8)!: ciphertext], shows: shown)
    }

    private func list(_ files: [Name: [UInt8]], shows names: [Name]) throws(Finding) {
        let listed = try demandSuccess(of: "listing") { () throws in
            for (name, contents) in files { try planted.store.plant(contents, at: name) }
            defer { for name in files.keys { try? planted.store.unlink(name, in: planted.store.root) } }
            return try planted.vault.entries(of: planted.root).map(\.name)
        }
        try demand(listed == names, "\(files.keys) shows \(listed), not \(names)")
    }
}
