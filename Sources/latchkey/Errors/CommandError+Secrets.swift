import Posix

extension CommandError {
    /// Why a secret could not be read.
    init(_ failure: SecretReader.Failure, reading subject: SecretSource.Subject, from place: Printable) {
        switch failure {
        case .empty:
            self.init(.failed, "no \(subject.name) in \(place): it must have 1 to \(SecretReader.largest) bytes")
        case .tooLong:
            self.init(.failed, "the \(subject.name) in \(place) is longer than \(SecretReader.largest) bytes")
        case .io(let code):
            self.init(.failed, "cannot read the \(subject.name) from \(place): \(code)")
        case .noMemory(let error):
            self.init(.failed, "\(error)")
        case .unanswered(let error):
            self = error
        }
    }

    /// Standard input has nothing, and there is no terminal and no program to ask a person.
    ///
    /// - Parameter obstacle: why the last program could not.
    init(noneToAsk subject: SecretSource.Subject, _ obstacle: Printable?) {
        let reason = obstacle ?? "there is no terminal and no program to ask for it"
        var advice: [Printable] = ["LATCHKEY_ASKPASS=/usr/bin/ssh-askpass latchkey …   (or another program that asks)"]
        if let option = subject.option { advice.insert("the same with \(option) FILE", at: 0) }
        self.init(.failed, "no \(subject.name) in standard input, and \(reason); nothing was tried", advice: advice)
    }
}
