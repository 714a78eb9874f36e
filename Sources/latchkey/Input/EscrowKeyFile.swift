import Crypto
import Glibc
import Keybag
import Posix

/// An organisation's escrow keys in PEM files.
enum EscrowKeyFile {
    /// The private key in hexadecimal digits. For an encrypted file, asks for the passphrase.
    static func privateKey(in path: Path) throws(CommandError) -> Secret {
        let key = try rawPrivateKey(in: path)
        do { return try EscrowKey.encode(key) } catch { throw CommandError(.failed, "\(error)") }
    }

    /// The private key: 32 bytes.
    private static func rawPrivateKey(in path: Path) throws(CommandError) -> Secret {
        let text = try SecretSource.file(path).read(
            SecretSource.Subject(name: "private key", prompt: "Private key", isOneLine: false))
        do throws(X25519.PEMFailure) {
            return try X25519.privateKey(inPEM: text, passphrase: Secret.none())
        } catch .passphrase {
            return try decrypted(text, path)
        } catch { throw CommandError(error, reading: path) }
    }

    private static func decrypted(_ text: borrowing Secret, _ path: Path) throws(CommandError) -> Secret {
        guard SecretSource.standardInput.isAsked else {
            throw CommandError(
                .failed, "\(path) is encrypted, and there is no terminal and no program to ask for its passphrase",
                try: "openssl pkey -in \(path.quoted) | latchkey … --escrow-key /dev/stdin")
        }
        let subject = SecretSource.Subject(name: "passphrase", prompt: "Passphrase of \(path.printable)")
        let passphrase = try SecretSource.standardInput.read(subject)
        do throws(X25519.PEMFailure) {
            return try X25519.privateKey(inPEM: text, passphrase: passphrase)
        } catch { throw CommandError(error, reading: path) }
    }

    /// The public key: 32 bytes.
    static func publicKey(in path: Path) throws(CommandError) -> [UInt8] {
        let text: [UInt8]
        do {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let file = try Descriptor.open(path: path, O_RDONLY)
            let count: Int
            do {
                var elements = buffer.mutableSpan
                var span = unsafe elements.mutableBytes
                count = try file.read(into: &span)
            }
            text = Array(buffer.prefix(count))
        } catch {
            throw CommandError(cannot: "read the public key in", path, error)
        }
        guard let key = X25519.publicKey(inPEM: text) else {
            throw CommandError(
                .failed, "\(path) is no X25519 public key in PEM",
                try: "openssl pkey -in PRIVATE -pubout -out \(path.quoted)")
        }
        return key
    }
}

extension Secret {
    /// An empty passphrase.
    fileprivate static func none() throws(X25519.PEMFailure) -> Secret {
        do { return try Secret(count: 0) } catch { throw .crypto(error) }
    }
}

extension CommandError {
    /// Why a file has no private key.
    fileprivate init(_ failure: X25519.PEMFailure, reading path: Path) {
        switch failure {
        case .passphrase: self.init(.wrongPasscode, "the passphrase of \(path) is wrong; nothing was changed")
        case .crypto(let error): self.init(.failed, "\(error)")
        case .notAKey:
            self.init(
                .failed, "\(path) is no X25519 private key in PEM", try: "openssl genpkey -algorithm X25519 -out FILE")
        }
    }
}
