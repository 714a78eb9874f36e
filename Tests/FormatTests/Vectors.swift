import Format
import Foundation
import TestSupport

/// A file of Tests/Vectors with valid cases and inputs that must be refused.
struct Vectors<Case: Decodable, Refused: Decodable>: Decodable {
    let cases: [Case]
    let refused: [Refused]

    init(file: String) throws {
        self = try vectors(file)
    }
}

/// The whole of a file of Tests/Vectors.
func vectors<Content: Decodable>(_ file: String) throws -> Content {
    let json = try Data(contentsOf: URL(filePath: Built.project + "/Tests/Vectors/\(file).json"))
    return try JSONDecoder().decode(Content.self, from: json)
}

func bytes(_ hexadecimal: String) -> [UInt8] { [UInt8](hexadecimal: hexadecimal)! }
