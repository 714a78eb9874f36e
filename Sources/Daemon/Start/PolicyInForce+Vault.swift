import Control
import Crypto
public import Failure
public import Format
import Keybag
public import Policy
import Strength

extension PolicyInForce {
    /// Of this machine, and the one that the configuration names besides.
    init(_ configuration: Configuration) throws(Failure) {
        do throws(PolicyError) { self = try .load(besides: configuration.policyPath, X25519.publicKey) } catch {
            throw .forbidden(reason: "\(error)")
        }
    }

    /// Throws unless the vault may be mounted so. The class of its root is not looked at: it takes a mount to change it.
    func check(_ keybag: OpenKeybag, _ configuration: Configuration) throws(Failure) {
        try check(keybag.file, isGuarded: keybag.isGuarded, configuration)
    }

    /// The same of a keybag that nobody has opened yet.
    ///
    /// - Parameter isGuarded: whether a TPM holds the device key.
    public func check(
        _ keybag: KeybagFile, isGuarded: Bool, _ configuration: Configuration
    ) throws(Failure) {
        var facts = Facts()
        facts.grace = Int(configuration.grace.seconds.rounded(.up))
        facts.idleLock = configuration.lockWhenIdle.map { .after(Int($0.seconds.rounded(.up))) } ?? .never
        facts.erasure = keybag.settings.eraseAfter > 0 ? .after(Int(keybag.settings.eraseAfter)) : .never
        facts.escrowKeys = keybag.escrowKeys
        facts.deviceKey = isGuarded ? .tpm2 : .software
        if let violation = violations(of: facts).first { throw .forbidden(reason: violation.description) }
    }

    /// Throws unless a passcode may be set.
    func check(_ passcode: borrowing Secret) throws(Failure) {
        guard policies.contains(where: { $0.minimumPasscodeStrength != nil }) else { return }
        var facts = Facts()
        do throws(CryptoError) { facts.passcodeScore = try Strength(of: passcode).score } catch {
            throw .crypto(error)
        }
        if let violation = violations(of: facts).first { throw .forbidden(reason: violation.description) }
    }
}
