import Crypto
import FIDO2
import Failure
import Format
import Keybag
import Posix
import Store

/// The security keys at hand, and what a vault's slots say of some.
struct SecurityKeys {
    let options: SecurityKeyOptions
    /// As it was typed.
    let vault: String
    let entries: [(slot: UInt32, entry: SecurityKeyEntry)]

    /// Reads in clear what the vault's keybag says. Nothing of it is proved, and nothing need be: what a security key
    /// derives for another one opens no slot.
    init(of vault: String, _ options: SecurityKeyOptions) throws(CommandError) {
        self.options = options
        self.vault = vault
        let store: DirectoryStore
        do throws(Errno) {
            // From here on this process may come to hold a secret.
            try ProcessLimits.forbidDumps()
            store = try DirectoryStore(path: vault)
        } catch { throw CommandError(cannot: "open the vault", vault, error) }
        entries = try withKeybag(of: vault) { () throws(Failure) in try OpenKeybag.inspect(store).securityKeys }
    }

    /// Where those are that may be looked at.
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

    /// Connects. Nil for one that nobody has named and that is of no use.
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
    /// What a slot says of a security key.
    init(_ entry: SecurityKeyEntry) {
        self.init(
            identifier: entry.identifier, salt: entry.salt, withPIN: entry.demands.contains(.verification),
            withTouch: entry.demands.contains(.presence))
    }
}
