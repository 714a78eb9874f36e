import Crypto
import FIDO2
import Failure
import Format
import Keybag
import Posix
import Store

/// The present security keys, and the vault's slots for security keys.
struct SecurityKeys {
    let options: SecurityKeyOptions
    /// The path as it was typed.
    let vault: Path
    let entries: [(slot: UInt32, entry: SecurityKeyEntry)]

    /// Reads the unencrypted part of the vault's keybag. It is not verified, and need not be: a secret that a security
    /// key derives for a forged entry opens no slot.
    init(of vault: Path, _ options: SecurityKeyOptions) throws(CommandError) {
        self.options = options
        self.vault = vault
        let store: DirectoryStore
        do throws(Errno) {
            // From here on, this process may hold a secret.
            try ProcessLimits.forbidDumps()
            store = try DirectoryStore(path: vault)
        } catch { throw CommandError(cannot: "open the vault", vault, error) }
        entries = try withKeybag(of: vault) { () throws(Failure) in try OpenKeybag.inspect(store).securityKeys }
    }

    /// The paths of the security keys that may be asked.
    var paths: [String] {
        get throws(CommandError) {
            if let named = options.named { return named }
            let found = try withSecurityKey { () throws(FIDO2Error) in try SecurityKey.pluggedIn() }
            guard found.isEmpty else { return found }
            throw CommandError(
                .failed, "no security key is plugged in, or none that you may use",
                try: "plug it in, then the same again", "ls -l /dev/hidraw*   (whether you may use it)")
        }
    }

    /// Connects to a security key. Nil for one that was not named and cannot be used.
    func connect(_ path: String) throws(CommandError) -> SecurityKey? {
        do throws(FIDO2Error) { return try SecurityKey(path: path) } catch {
            switch error {
            case .unfit, .noDevice: if options.named == nil { return nil }
            default: break
            }
            throw CommandError(error, at: path)
        }
    }
}

extension SecurityKeyCredential {
    /// The credential that a slot describes.
    init(_ entry: SecurityKeyEntry) {
        self.init(
            identifier: entry.identifier, salt: entry.salt, withPIN: entry.demands.contains(.verification),
            withTouch: entry.demands.contains(.presence))
    }
}
