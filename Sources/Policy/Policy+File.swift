import TOML

extension Policy {
    /// Reads a policy file; if there is none, the policy is empty.
    /// - Parameter isRequired: whether a missing file is an error: for a path that the user has named.
    /// - Throws: if the file cannot be read, is owned by another user than root or the caller, is writable by others
    ///   than its owner, or is refused by `init(parsing:path:)`. Callers must not ignore it: the rules of the file are
    ///   unknown.
    public static func load(path: String = standardPath, isRequired: Bool = false) throws(PolicyError) -> Policy {
        let text: String?
        do { text = try TrustedFile.text(of: path) } catch { throw PolicyError(path, line: error.line, error.problem) }
        guard let text else {
            guard isRequired else { return Policy(path: path) }
            throw PolicyError(path, "there is no such file")
        }
        return try Policy(parsing: text, path: path)
    }

    /// As `load`, and reads the required escrow key if it is in a file of its own, which must be as trusted as this
    /// one.
    /// - Parameter decode: the 32 bytes of the public key in PEM text; nil if there is none.
    /// - Throws: if the file is missing, cannot be trusted, or contains no key.
    public func readingEscrowKey(_ decode: ([UInt8]) -> [UInt8]?) throws(PolicyError) -> Policy {
        guard let rule = requiredEscrowKey, case .file(let file) = rule.value else { return self }
        let refusal = { (problem: String) in
            PolicyError(path, line: rule.line, "the required-escrow-key \(file): \(problem)")
        }
        let bytes: [UInt8]?
        do { bytes = try TrustedFile.contents(of: file) } catch { throw refusal(error.problem) }
        guard let bytes else { throw refusal("there is no such file") }
        guard let key = decode(bytes), key.count == 32 else { throw refusal("it is no X25519 public key in PEM") }
        var policy = self
        policy.requiredEscrowKey = Rule(.key(key), line: rule.line)
        return policy
    }
}
