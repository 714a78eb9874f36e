import Crypto
import FIDO2
import Keybag

extension SecurityKeys {
    /// The secret that a security key derives for one of the vault's slots. It takes one touch: which key belongs to
    /// which slot is found out before.
    func secret() throws(CommandError) -> Secret {
        guard !entries.isEmpty else {
            throw CommandError(
                .failed, "no security key opens \(vault)", try: "latchkey slot add fido2 \(vault.quoted)")
        }
        var secretive: [String] = []
        for path in try paths {
            guard let key = try connect(path) else { continue }
            for (_, entry) in entries {
                let credential = SecurityKeyCredential(entry)
                switch try withSecurityKey(at: path, { () throws(FIDO2Error) in try key.knows(credential) }) {
                case true?: return try derived(key, credential)
                case false?: break
                // The key does not answer without its PIN.
                case nil: if secretive.last != path { secretive.append(path) }
                }
            }
        }
        for path in secretive {
            if let secret = try secret(ofSecretive: path) { return secret }
        }
        throw CommandError(
            .wrongPasscode, "none of the security keys at hand knows \(vault); nothing was changed",
            try: "plug in another one, then the same again", "latchkey slot list \(vault.quoted)")
    }

    /// The same for a key that does not answer without its PIN; nil if it has no slot in this vault.
    private func secret(ofSecretive path: String) throws(CommandError) -> Secret? {
        let credentials = entries.map { SecurityKeyCredential($0.entry) }
        guard let key = try connect(path) else { return nil }
        guard credentials.contains(where: \.withPIN) else { throw CommandError(.pinRequired, at: path) }
        let pin = try options.readPIN()
        for credential in credentials where credential.withPIN {
            let isKnown = try withSecurityKey(at: path) { () throws(FIDO2Error) in
                try key.knows(credential, pin: pin)
            }
            if isKnown == true { return try derived(key, credential, pin) }
        }
        return nil
    }

    private func derived(
        _ key: borrowing SecurityKey, _ credential: SecurityKeyCredential
    ) throws(CommandError) -> Secret {
        guard credential.withPIN else {
            let none = try withSecurityKey { () throws(FIDO2Error) in try SecurityKeyPIN() }
            return try derived(key, credential, none)
        }
        let pin = try options.readPIN()
        // Reports a key without a slot before the user is asked for a touch.
        _ = try withSecurityKey(at: key.path) { () throws(FIDO2Error) in try key.knows(credential, pin: pin) }
        return try derived(key, credential, pin)
    }

    private func derived(
        _ key: borrowing SecurityKey, _ credential: SecurityKeyCredential, _ pin: borrowing SecurityKeyPIN
    ) throws(CommandError) -> Secret {
        if credential.withTouch { Standard.error("Touch the security key.") }
        do throws(FIDO2Error) {
            let secret = try key.secret(of: credential, pin: pin)
            do throws(CryptoError) { return try SecurityKeySecret.encode(secret) } catch { throw .crypto(error) }
        } catch { throw CommandError(error, at: key.path) }
    }
}
