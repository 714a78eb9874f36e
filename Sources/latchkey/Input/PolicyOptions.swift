import ArgumentParser
import Crypto
import Policy

/// Which policy applies.
struct PolicyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("A policy to keep, in addition to \(Policy.standardPath).", valueName: "file"),
        transform: textOnly)
    var policy: String?

    /// The machine's policy alone.
    static func ofTheMachine() throws(CommandError) -> PolicyInForce {
        do throws(PolicyError) { return try PolicyInForce.load(besides: nil, X25519.publicKey) } catch {
            throw CommandError(error)
        }
    }

    /// All policies that apply: the machine's, and the one that the option names.
    func inForce() throws(CommandError) -> PolicyInForce {
        do throws(PolicyError) { return try PolicyInForce.load(besides: policy, X25519.publicKey) } catch {
            throw CommandError(error)
        }
    }

    /// Throws if the policy forbids this way to keep a device key.
    ///
    /// - Parameter isGuarded: whether a TPM holds it.
    func check(isGuarded: Bool) throws(CommandError) {
        var facts = Facts()
        facts.deviceKey = isGuarded ? .tpm2 : .software
        if let violation = try inForce().violations(of: facts).first { throw CommandError(forbidden: violation) }
    }

    /// The policy that the option names, else the machine's, with the escrow key that it requires.
    func load() throws(CommandError) -> Policy {
        do throws(PolicyError) {
            // If the named file is missing, by a typing error for example, it must not count as a policy without rules.
            return try Policy.load(path: policy ?? Policy.standardPath, isRequired: policy != nil)
                .readingEscrowKey(X25519.publicKey)
        } catch { throw CommandError(error) }
    }
}
