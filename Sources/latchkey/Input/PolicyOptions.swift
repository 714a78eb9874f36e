import ArgumentParser
import Crypto
import Policy

/// Which policy holds.
struct PolicyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A policy to keep besides \(Policy.standardPath).", valueName: "file"))
    var policy: String?

    /// All that hold: the machine's, and the one that is named.
    func inForce() throws(CommandError) -> PolicyInForce {
        do throws(PolicyError) { return try PolicyInForce.load(besides: policy, X25519.publicKey) } catch {
            throw CommandError(error)
        }
    }

    /// Throws where a device key may not be kept so.
    ///
    /// - Parameter isGuarded: whether a TPM is to hold it.
    func check(isGuarded: Bool) throws(CommandError) {
        var facts = Facts()
        facts.deviceKey = isGuarded ? .tpm2 : .software
        if let violation = try inForce().violations(of: facts).first { throw CommandError(forbidden: violation) }
    }

    /// The one that is named, else the machine's, with the escrow key that it requires.
    func load() throws(CommandError) -> Policy {
        do throws(PolicyError) {
            // A file that somebody names, and mistypes, must not count as one without rules.
            return try Policy.load(path: policy ?? Policy.standardPath, isRequired: policy != nil)
                .readingEscrowKey(X25519.publicKey)
        } catch { throw CommandError(error) }
    }
}
