public import Crypto
public import Format

/// The subkeys for a vault's names and metadata, each for one purpose; they work in every lock state.
///
/// The volume key itself is used only to derive them. Safe for any number of threads.
public final class VolumeKeys: Sendable {
    public let volume: VolumeIdentifier
    public let names: DeterministicCipher
    public let symlinks: DeterministicCipher
    public let xattrs: DeterministicCipher
    public let directories: DeterministicCipher
    public let headers: MessageAuthenticator
    public let bindings: MessageAuthenticator
    public let journal: MessageAuthenticator
    /// For `PolynomialHash`.
    public let journalBlocks: Secret
    public let summaries: MessageAuthenticator
    public let claims: DeterministicCipher
    public let members: MessageAuthenticator
    /// For the file of marks, which is not in the vault.
    public let marks: DeterministicCipher

    /// - Parameter volumeKey: 32 bytes.
    public init(volumeKey: borrowing Secret, volume: VolumeIdentifier) throws(CryptoError) {
        let salt = volume.bytes
        self.volume = volume
        names = try DeterministicCipher(key: .derived(from: volumeKey, salt: salt, info: Label.names, count: 64))
        symlinks = try DeterministicCipher(key: .derived(from: volumeKey, salt: salt, info: Label.symlinks, count: 64))
        xattrs = try DeterministicCipher(key: .derived(from: volumeKey, salt: salt, info: Label.xattrs, count: 64))
        directories = try DeterministicCipher(
            key: .derived(from: volumeKey, salt: salt, info: Label.directories, count: 64))
        headers = try MessageAuthenticator(key: .derived(from: volumeKey, salt: salt, info: Label.headers))
        bindings = try MessageAuthenticator(key: .derived(from: volumeKey, salt: salt, info: Label.bindings))
        journal = try MessageAuthenticator(key: .derived(from: volumeKey, salt: salt, info: Label.journal))
        journalBlocks = try .derived(from: volumeKey, salt: salt, info: Label.journalBlocks)
        summaries = try MessageAuthenticator(key: .derived(from: volumeKey, salt: salt, info: Label.summaries))
        claims = try DeterministicCipher(key: .derived(from: volumeKey, salt: salt, info: Label.claims, count: 64))
        members = try MessageAuthenticator(key: .derived(from: volumeKey, salt: salt, info: Label.members))
        marks = try DeterministicCipher(key: .derived(from: volumeKey, salt: salt, info: Label.marks, count: 64))
    }
}

extension Secret {
    /// HKDF(key, salt, info, count).
    static func derived(
        from key: borrowing Secret, salt: [UInt8], info: [UInt8], count: Int = 32
    ) throws(CryptoError) -> Secret {
        try KeyDerivation.hkdf(key, salt: salt, info: info, count: count)
    }
}
