import DataProtection
import Foundation
import Posix

/// Reads a command a line, and answers each by one line: `ok` with its result, or the name of the error.
@main
struct Main {
    static func main() async {
        var session = Session()
        while let line = readLine() {
            let words = line.split(separator: " ").map { String($0).removingPercentEncoding ?? "" }
            let answer: String
            do {
                let result = try await session.perform(words[0], Array(words.dropFirst()))
                answer = result.isEmpty ? "ok" : "ok " + result
            } catch let error as DataProtectionError {
                answer = error.name
            } catch {
                answer = "\(type(of: error))"
            }
            FileHandle.standardOutput.write(Data((answer + "\n").utf8))
        }
    }
}

extension DataProtectionError {
    fileprivate var name: String {
        switch self {
        case .notProtected: "notProtected"
        case .locked: "locked"
        case .mountEnded: "mountEnded"
        case .noAnswer(let reason): "noAnswer(\(reason))"
        case .unknownProtection: "unknownProtection"
        case .system(let errno, _): Errno(rawValue: errno).name
        }
    }
}
