import Administration
import Control
import Crypto
import FIDO2
import Format
import Keybag

extension SecurityKeys {
    /// A new credential on the present security key, and the secret that the key derives for it, checked by deriving
    /// twice.
    func newSecret() throws(CommandError) -> NewSecret {
        let path = try newcomer()
        guard let key = try connect(path) else { throw CommandError(FIDO2Error.noDevice, at: path) }
        if options.hasPIN, !key.hasPIN {
            throw CommandError(
                .failed, "the security key has no PIN; nothing was changed", try: "fido2-token -S \(path.quoted)",
                "the same without --fido2-pin-file")
        }
        let pin: SecurityKeyPIN
        if key.hasPIN {
            pin = try options.readPIN()
        } else {
            pin = try withSecurityKey { () throws(FIDO2Error) in try SecurityKeyPIN() }
        }
        if pin.isGiven, !key.keepsPINApart {
            Standard.error(
                "This security key is older than CTAP 2.1: it may give the same secret without its PIN.")
        }
        do throws(FIDO2Error) {
            Standard.error("Touch the security key, three times in all. First it makes a credential.")
            let credential = try key.makeCredential(pin: pin)
            Standard.error("Touch it again: it derives the secret.")
            let secret = try key.secret(of: credential, pin: pin)
            Standard.error("Touch it once more: this checks that the secret is the same.")
            let again = try key.secret(of: credential, pin: pin)
            guard secret.equals(again) else { throw .unfit }
            return try NewSecret(credential, secret)
        } catch { throw CommandError(error, at: path) }
    }

    /// The one present security key that has no slot in this vault yet.
    private func newcomer() throws(CommandError) -> String {
        var new: [String] = []
        var slot: UInt32?
        for path in try paths {
            guard let key = try connect(path) else { continue }
            if let known = try self.slot(of: key) { slot = known } else { new.append(path) }
        }
        if let path = new.first, new.count == 1 { return path }
        if new.count > 1 {
            throw CommandError(
                .failed, "several security keys are plugged in: which one is to open the vault?",
                try: "the same with --fido2-device \(new[0].quoted)")
        }
        if let slot {
            throw CommandError(
                .failed, "the security key at hand opens slot \(slot) already; nothing was changed",
                try: "plug in another one, then the same again", "latchkey slot remove \(slot) \(vault.quoted)")
        }
        throw CommandError(.unfit)
    }

    private func slot(of key: borrowing SecurityKey) throws(CommandError) -> UInt32? {
        for (slot, entry) in entries {
            let credential = SecurityKeyCredential(entry)
            do throws(FIDO2Error) {
                if try key.knows(credential) == true { return slot }
            } catch { throw CommandError(error, at: key.path) }
        }
        return nil
    }
}

extension NewSecret {
    fileprivate init(_ credential: SecurityKeyCredential, _ secret: borrowing Secret) throws(FIDO2Error) {
        let key = NewSecurityKey(
            credential: String(hexadecimal: credential.identifier), salt: String(hexadecimal: credential.salt),
            withPIN: credential.withPIN, withTouch: credential.withTouch)
        do throws(CryptoError) { self.init(key, try SecurityKeySecret.encode(secret)) } catch { throw .crypto(error) }
    }
}
