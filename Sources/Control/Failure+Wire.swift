import Failure
import FoundationEssentials

/// What the parameters of any error may hold.
struct ErrorParameters: Codable {
    var reason: String?
    var bytes: Int?
    var interface: String?
    var method: String?
    var parameter: String?
    var kind: String?
    var slot: Int?
    var seconds: Int?
    var guesses: Guesses?
    var limit: Int?
}

extension Failure {
    /// The error's name and parameters on the wire: those of the failure's case, where an interface has an error of
    /// that name, else `Failed` with words for it.
    func wire(_ words: (Failure) -> String) -> (name: String, parameters: ErrorParameters) {
        guard let json = try? JSONEncoder().encode(inInterface),
            let (code, parameters) = try? JSONDecoder().decode([String: ErrorParameters].self, from: json).first,
            let name = InterfaceDescription.errors[code]
        else { return ("io.latchkey.Failed", ErrorParameters(reason: words(self))) }
        return (name, parameters)
    }

    init(name: String, parameters: ErrorParameters) {
        guard let (code, _) = InterfaceDescription.errors.first(where: { $0.value == name }),
            let json = try? JSONEncoder().encode([code: parameters]),
            let failure = try? JSONDecoder().decode(Failure.self, from: json)
        else {
            self = .unknown(name: name)
            return
        }
        self = failure
    }

    /// The same as other programs know it, to whom some failures are one.
    private var inInterface: Failure {
        switch self {
        case .malformedRecoveryKey: .wrongRecoveryKey
        case .notAKeyFile: .wrongKey(kind: .keyFile)
        case .notAPublicKey: .invalidParameter(parameter: "publicKey")
        case .notAVault: .damaged(reason: "the keybag is gone")
        default: self
        }
    }
}

extension InterfaceDescription {
    /// The names of the errors that the interfaces have, by the case of `Failure` that each is:
    /// "io.latchkey.NoSuchSlot" by "noSuchSlot".
    static let errors: [String: String] = {
        var errors: [String: String] = [:]
        for interface in names {
            for line in named(interface)?.split(separator: "\n") ?? [] where line.hasPrefix("error ") {
                let name = line.dropFirst("error ".count).prefix { $0.isLetter }
                errors[name.prefix(1).lowercased() + name.dropFirst()] = "\(interface).\(name)"
            }
        }
        return errors
    }()
}
