import Crypto
import Glibc
import Format
import Keybag
import Posix
import Store
import TestSecrets
import TestSupport
import Vault

/// A vault in a temporary folder, opened to read with fixed keys. The folder can be written to by the test.
///
/// Of the class keys it has class D's.
final class PlantedVault {
    static let volumeID = VolumeIdentifier([UInt8](1...16))
    static let rootID = DirectoryIdentifier([UInt8](17...32))

    let folder: TemporaryFolder
    let store: DirectoryStore
    let keys: VolumeKeys
    let ring: KeyRing
    let traits: StoreTraits
    let vault: Vault
    let root: Directory

    init(recordKind: StoreTraits.RecordKind = .symbolicLink) throws {
        folder = try TemporaryFolder(mode: 0o700)
        store = try DirectoryStore(path: Path(folder.path))
        let volumeKey = try secret([UInt8](repeating: 7, count: 32))
        keys = try VolumeKeys(volumeKey: volumeKey, volume: Self.volumeID)
        ring = KeyRing(volume: Self.volumeID)
        ring.install(classKeyD: try secret([UInt8](repeating: 8, count: 32)))
        traits = StoreTraits(nameMax: 255, recordKind: recordKind)
        vault = Vault(store: store, keys: keys, ring: ring, traits: traits, isReadOnly: true)
        let record = DirectoryRecord(
            directory: Self.rootID, defaultClass: .completeUntilFirstUserAuthentication, isExplicit: true)
        let text = Base64URL.encode(
            try keys.directories.seal(record.encoded, associatedData: Self.volumeID.bytes, NameBinding.zero.bytes))
        switch recordKind {
        case .symbolicLink: try store.makeSymbolicLink(to: text, "lk.dir", in: store.root)
        case .file: try store.plant(text, at: "lk.dir")
        }
        root = try vault.openRoot()
    }
}

extension Store {
    /// Makes a file in the root, or replaces its contents.
    func plant(_ contents: [UInt8], at name: Name) throws(Errno) {
        let file = try open(name, in: root, OpenFlags.plant, mode: 0o600)
        try unsafe write(contents.span.bytes, to: file, at: 0)
    }
}

private enum OpenFlags {
    static let plant = O_WRONLY | O_CREAT | O_TRUNC
}
