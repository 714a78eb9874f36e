import Failure
import FoundationEssentials

/// All parameters that an error may have.
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
    /// The error's name and parameters on the wire. If an interface has an error of the name of the failure's case, it
    /// is that one, else `Failed` with `words`.
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

    /// The failure that other programs get: the interface has one error for several failures.
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
    /// The names of the interfaces' errors, by the case of `Failure` with the same name: "io.latchkey.NoSuchSlot" by
    /// "noSuchSlot".
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
