import Failure
import FoundationEssentials
import Posix

/// One message: JSON without its terminating NUL, and the descriptors sent with it.
struct Message: Sendable {
    /// More bytes than any message of io.latchkey needs. A longer one ends the connection.
    static let sizeLimit = 1 << 20

    var bytes: [UInt8] = []
    var descriptors: [Descriptor] = []

    init() {}

    init(_ value: some Encodable, descriptors: [Descriptor] = []) throws(Failure) {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            bytes = try Array(encoder.encode(value))
        } catch {
            throw .malformed("cannot encode \(type(of: value))")
        }
        self.descriptors = descriptors
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws(Failure) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch let error as DecodingError {
            throw .invalidParameter(parameter: error.field)
        } catch {
            throw .malformed("not JSON")
        }
    }
}

extension DecodingError {
    /// The name of the outermost parameter that does not decode.
    fileprivate var field: String {
        switch self {
        case .keyNotFound(let key, let context): (context.codingPath + [key]).parameterName
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            context.codingPath.parameterName
        @unknown default: ""
        }
    }
}

extension [any CodingKey] {
    fileprivate var parameterName: String {
        drop { $0.stringValue == "parameters" }.first?.stringValue ?? "parameters"
    }
}

/// The frame of a call.
///
/// Source: varlink.org, "Method Call".
struct CallFrame: Codable {
    var method: String
    var more: Bool?
    var oneway: Bool?
}

struct Call<Parameters: Codable>: Codable {
    var method: String
    var parameters: Parameters
    var more: Bool?
}

/// The parameters of a call or a reply, without its frame.
struct CallParameters<Parameters: Decodable>: Decodable {
    var parameters: Parameters
}

struct OptionalCallParameters<Parameters: Decodable>: Decodable {
    var parameters: Parameters?
}

/// The frame of a reply.
struct ReplyFrame: Codable {
    var error: String?
    var continues: Bool?
}

struct Reply<Parameters: Codable>: Codable {
    var parameters: Parameters
    var continues: Bool?
    var error: String?
}

struct NoParameters: Codable {}

extension Message {
    static func success(_ parameters: some Codable, continues: Bool? = nil) throws(Failure) -> Message {
        try Message(Reply(parameters: parameters, continues: continues))
    }

    /// - Parameter words: describes a failure that has no error of its own in the interface.
    static func failure(_ error: Failure, _ words: (Failure) -> String) throws(Failure) -> Message {
        let (name, parameters) = error.wire(words)
        return try Message(Reply(parameters: parameters, error: name))
    }
}
