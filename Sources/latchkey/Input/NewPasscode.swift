import ArgumentParser
import Crypto
import Failure
import Keybag
import Policy
import Posix
import Store
import Strength

/// How strictly a new passcode is checked.
struct StrengthOptions: ParsableArguments {
    @Flag(
        help: """
            Accept a weak passcode: one that a guesser who knows how people choose finds within a million guesses. \
            Without this option it is refused, unless a TPM counts the guesses.
            """)
    var weak = false

    @OptionGroup var policy: PolicyOptions

    /// Throws unless the passcode may be set.
    func check(_ passcode: borrowing Secret, isGuarded: Bool) throws(CommandError) {
        let strength: Strength
        do throws(CryptoError) { strength = try Strength(of: passcode) } catch {
            throw CommandError(.failed, "\(error)")
        }
        var facts = Facts()
        facts.passcodeScore = strength.score
        if let violation = try policy.inForce().violations(of: facts).first { throw CommandError(forbidden: violation) }
        if !weak, !isGuarded, strength.isWeak { throw CommandError(Failure.weakPasscode, of: "VAULT") }
    }
}

/// What is said about a passcode that was just set.
struct PasscodeAdvice {
    private let strength: Strength
    /// Seconds of one guess on this machine.
    private let seconds: Double

    /// Takes as long as one guess. Nil if there is not enough memory for one.
    init?(_ passcode: borrowing Secret, cost: Argon2Cost) {
        let clock = ContinuousClock()
        let start = clock.now
        do throws(CryptoError) {
            _ = try Argon2id.derive(passcode, salt: Secret(count: 32), cost: cost, count: 32)
            let seconds = (clock.now - start) / .seconds(1)
            self.init(try Strength(of: passcode), seconds: seconds)
        } catch { return nil }
    }

    init(_ strength: Strength, seconds: Double) {
        self.strength = strength
        self.seconds = seconds
    }

    var text: String {
        let alone = strength.seconds(perGuess: seconds)
        return """
            The passcode: a guess takes \(Clock.precisely(seconds)) here. A thief of the disk who knows how people \
            choose finds it in \(Self.span(alone)) on a machine like this one, in \(Self.span(alone / 1000)) on a \
            thousand.\
            \(alone < 10 * Self.year ? " Five random words would stand this." : "")
            """
    }

    /// Describes the new passcode of a vault, with the cost of a guess there.
    static func tell(of passcode: borrowing Secret, in vault: Path) {
        guard let store = try? DirectoryStore(path: vault), let file = try? OpenKeybag.inspect(store),
            let advice = PasscodeAdvice(passcode, cost: file.dearestCost)
        else { return }
        Standard.output("\(advice.text)")
    }

    private static let year = 365.25 * 86_400

    /// A time span in a unit that people use.
    static func span(_ seconds: Double) -> String {
        let units: [(size: Double, name: String)] = [
            (1, "second"), (60, "minute"), (3600, "hour"), (86_400, "day"), (30.4 * 86_400, "month"), (year, "year"),
        ]
        let (size, name) = units.last { seconds >= $0.size } ?? units[0]
        let number = (seconds / size).rounded()
        if name == "year", number >= 1_000_000 { return "more than a million years" }
        if seconds < 1 { return "less than a second" }
        return "about \(Int(number)) \(name)\(number == 1 ? "" : "s")"
    }
}

extension SecretSource {
    /// Reads a passcode that is to be set. Refuses a weak one before anything is done, unless an option allows it, or a
    /// chip counts wrong ones.
    func readNew(
        _ subject: Subject, _ options: StrengthOptions, isGuarded: Bool = false
    ) throws(CommandError) -> Secret {
        // If the policy cannot be used, reports that before the user types anything.
        _ = try options.policy.inForce()
        let passcode = try readNew(subject)
        try options.check(passcode, isGuarded: isGuarded)
        return passcode
    }
}
