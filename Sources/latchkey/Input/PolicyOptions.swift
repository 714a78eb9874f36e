import ArgumentParser
import Crypto
import Policy

/// Which policy holds.
struct PolicyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The policy, instead of \(Policy.standardPath).", valueName: "file"))
    var policy: String?

    /// The policy with the escrow key that it requires.
    func load() throws(CommandError) -> Policy {
        do throws(PolicyError) {
            // A file that somebody names, and mistypes, must not count as one without rules.
            return try Policy.load(path: policy ?? Policy.standardPath, isRequired: policy != nil)
                .readingEscrowKey(X25519.publicKey)
        } catch { throw CommandError(error) }
    }
}
