import Control
import Crypto
public import Failure
public import Format
import Keybag
public import Policy
import Strength

extension PolicyInForce {
    /// The machine's policy, and the one that the configuration names in addition.
    init(_ configuration: Configuration) throws(Failure) {
        do throws(PolicyError) { self = try .load(besides: configuration.policyPath, X25519.publicKey) } catch {
            throw .forbidden(reason: "\(error)")
        }
    }

    /// Throws unless the vault may be mounted. Does not check the class of its root: that can only be changed in a
    /// mount.
    func check(_ keybag: OpenKeybag, _ configuration: Configuration) throws(Failure) {
        try check(keybag.file, isGuarded: keybag.isGuarded, configuration)
    }

    /// The same for a keybag that is not open yet.
    ///
    /// - Parameter isGuarded: whether a TPM holds the device key.
    public func check(
        _ keybag: KeybagFile, isGuarded: Bool, _ configuration: Configuration
    ) throws(Failure) {
        var facts = Facts()
        facts.grace = Int(configuration.grace.seconds.rounded(.up))
        facts.idleLock = configuration.lockWhenIdle.map { .after(Int($0.seconds.rounded(.up))) } ?? .never
        facts.forgetting =
            configuration.forgetAfter.map { .after(Int(($0.seconds / 3600).rounded(.up))) } ?? .never
        facts.freshness = FreshnessLevel(configuration.freshness)
        facts.erasure = keybag.settings.eraseAfter > 0 ? .after(Int(keybag.settings.eraseAfter)) : .never
        facts.escrowKeys = keybag.escrowKeys
        facts.deviceKey = isGuarded ? .tpm2 : .software
        if let violation = violations(of: facts).first { throw .forbidden(reason: violation.description) }
    }

    /// Throws unless the passcode may be set.
    func check(_ passcode: borrowing Secret) throws(Failure) {
        guard policies.contains(where: { $0.minimumPasscodeStrength != nil }) else { return }
        var facts = Facts()
        do throws(CryptoError) { facts.passcodeScore = try Strength(of: passcode).score } catch {
            throw .crypto(error)
        }
        if let violation = violations(of: facts).first { throw .forbidden(reason: violation.description) }
    }
}

extension FreshnessLevel {
    fileprivate init(_ choice: Configuration.FreshnessChoice) {
        self =
            switch choice {
            case .off: .off
            case .warn: .warn
            case .strict: .strict
            }
    }
}
