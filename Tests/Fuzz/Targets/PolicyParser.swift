import Policy

/// A policy file.
final class PolicyParser: FuzzedParser {
    private static let path = "policy.toml"

    init() {}

    func run(_ input: [UInt8]) throws(Finding) {
        guard let text = String(validating: input, as: UTF8.self) else { return }
        let lines = input.count { $0 == UInt8(ascii: "\n") } + 1
        let policy: Policy
        do throws(PolicyError) { policy = try Policy(parsing: text, path: Self.path) } catch {
            return try demand(error.line.map { 1...lines ~= $0 } == true, "an error outside of the file: \(error)")
        }
        let lineNumbers = policy.statements.map(\.line)
        try demand(lineNumbers.allSatisfy { 1...lines ~= $0 }, "a rule outside of the file")
        try demand(zip(lineNumbers, lineNumbers.dropFirst()).allSatisfy { $0 < $1 }, "two rules in one line")
        // Each line as another editor may have left it.
        let again = try demandSuccess(of: "reading with other ends of lines") { () throws(PolicyError) in
            try Policy(parsing: Self.withOtherEnds(text) + "\r\n# end", path: Self.path)
        }
        try demand(again == policy, "another policy with other ends of lines")
    }

    /// Turns LF into CR LF, and CR LF into LF.
    private static func withOtherEnds(_ text: String) -> String {
        String(text.map { $0 == "\n" ? "\r\n" : $0 == "\r\n" ? "\n" : $0 })
    }
}
