import Crypto
import FIDO2
import Keybag

extension SecurityKeys {
    /// What a security key derives for one of the vault's slots, as it is handed over. It is touched once: which one
    /// knows which slot is found out before.
    func secret() throws(CommandError) -> Secret {
        guard !entries.isEmpty else {
            throw CommandError(
                .failed, "no security key opens \(vault)", try: "latchkey slot add fido2 \(vault.quoted)")
        }
        var unsure: [(path: String, credential: SecurityKeyCredential)] = []
        for path in try paths {
            guard let key = try connect(path) else { continue }
            for (_, entry) in entries {
                let credential = SecurityKeyCredential(entry)
                switch try withSecurityKey(at: path, { () throws(FIDO2Error) in try key.knows(credential) }) {
                case true?: return try derived(key, credential)
                case false?: break
                // It says nothing without its PIN.
                case nil: unsure.append((path, credential))
                }
            }
        }
        return try secret(ofOneOf: unsure)
    }

    private func secret(
        ofOneOf unsure: [(path: String, credential: SecurityKeyCredential)]
    ) throws(CommandError) -> Secret {
        var last = CommandError(
            .wrongPasscode, "none of the security keys at hand knows \(vault); nothing was changed",
            try: "plug in another one, then the same again", "latchkey slot list \(vault.quoted)")
        for (path, credential) in unsure {
            guard let key = try connect(path) else { continue }
            let pin = try pin(for: key, credential)
            do throws(FIDO2Error) {
                return try handedOver(key.secret(of: credential, pin: pin))
            } catch .unknownCredential {
                continue
            } catch {
                last = CommandError(error, at: path)
                break
            }
        }
        throw last
    }

    private func derived(
        _ key: borrowing SecurityKey, _ credential: SecurityKeyCredential
    ) throws(CommandError) -> Secret {
        let pin = try pin(for: key, credential)
        do throws(FIDO2Error) {
            return try handedOver(key.secret(of: credential, pin: pin))
        } catch { throw CommandError(error, at: key.path) }
    }

    /// The PIN if the slot was made with one. Then says what has to be done.
    private func pin(
        for key: borrowing SecurityKey, _ credential: SecurityKeyCredential
    ) throws(CommandError) -> SecurityKeyPIN {
        let pin: SecurityKeyPIN
        if credential.withPIN {
            pin = try options.readPIN()
        } else {
            pin = try withSecurityKey { () throws(FIDO2Error) in try SecurityKeyPIN() }
        }
        if credential.withTouch { Standard.error("Touch the security key.") }
        return pin
    }
}

/// As it goes to who opens the vault.
private func handedOver(_ secret: borrowing Secret) throws(FIDO2Error) -> Secret {
    do throws(CryptoError) { return try SecurityKeySecret.encode(secret) } catch { throw .crypto(error) }
}
