import Failure
import Glibc
import Posix

/// A secret that systemd gives to a service: `LoadCredential=` and the like.
///
/// Source: systemd.exec(5), $CREDENTIALS_DIRECTORY.
struct ServiceCredential {
    let kind: SecretKind
    let source: SecretSource

    private static let names: [(name: String, kind: SecretKind)] = [
        ("latchkey.passcode", .passcode), ("latchkey.key-file", .keyFile),
    ]

    /// Nil if this process is no service, or the service has no credential of these names.
    static func given() -> ServiceCredential? {
        guard let folder = unsafe getenv("CREDENTIALS_DIRECTORY").map({ unsafe String(cString: $0) }),
            folder.hasPrefix("/")
        else { return nil }
        for (name, kind) in names where unsafe access("\(folder)/\(name)", F_OK) == 0 {
            return ServiceCredential(kind: kind, source: .file("\(folder)/\(name)"))
        }
        return nil
    }
}
