import Posix
import TestSupport

// What tests do to a TPM behind the back of the code under test, byte by byte (TCG TPM 2.0 part 3).

extension SoftTPM {
    /// Extends a register of the SHA-256 bank by a digest of one repeated byte (TPM2_PCR_Extend).
    public func extend(pcr: Int, by byte: UInt8 = 0x11) throws {
        var parameters = bigEndian(UInt32(1)) + bigEndian(UInt16(0x000b))
        parameters += [UInt8](repeating: byte, count: 32)
        try execute(0x182, handle: UInt32(pcr), parameters)
    }

    /// Forgets the wrong authorization values (TPM2_DictionaryAttackLockReset).
    public func resetLockout() throws {
        try execute(0x139, handle: Self.lockoutHierarchy, [])
    }

    /// Makes all that was sealed worthless (TPM2_Clear).
    public func clear() throws {
        try execute(0x126, handle: Self.lockoutHierarchy, [])
    }

    /// Gives the owner hierarchy a password (TPM2_HierarchyChangeAuth).
    public func setOwnerPassword(_ password: String) throws {
        try execute(0x129, handle: Self.ownerHierarchy, bigEndian(UInt16(password.utf8.count)) + password.utf8)
    }

    private static var ownerHierarchy: UInt32 { 0x4000_0001 }
    private static var lockoutHierarchy: UInt32 { 0x4000_000a }

    /// Runs a command with one handle, authorized by an empty password, and returns the parameters of its response.
    @discardableResult public func execute(
        _ code: UInt32, handle: UInt32, _ parameters: [UInt8]
    ) throws -> [UInt8] {
        // A session for passwords, no nonce, no attributes, and the password.
        let authorization = bigEndian(UInt32(0x4000_0009)) + [0, 0, 0, 0, 0]
        var body = bigEndian(code) + bigEndian(handle) + bigEndian(UInt32(authorization.count)) + authorization
        body += parameters
        let response = try exchange(bigEndian(UInt16(0x8002)) + bigEndian(UInt32(body.count + 6)) + body)
        let result = response.count >= 10 ? response[6..<10].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } : .max
        guard result == 0 else {
            throw HarnessError(
                "command 0x" + String(code, radix: 16) + ": response code 0x" + String(result, radix: 16))
        }
        return Array(response.dropFirst(10))
    }

    private func exchange(_ command: [UInt8]) throws -> [UInt8] {
        let socket = try UnixSocket.connect(to: socketPath)
        try unsafe socket.send(command.span.bytes)
        guard try !Poll.readable([socket], timeout: .seconds(10)).isEmpty else { throw HarnessError("no response") }
        // It sends a response in one piece.
        var response = [UInt8](repeating: 0, count: 4096)
        let count: Int
        do {
            var elements = response.mutableSpan
            var bytes = unsafe elements.mutableBytes
            count = try socket.receive(into: &bytes).count
        }
        guard count > 0 else { throw HarnessError("no response") }
        return Array(response.prefix(count))
    }
}

private func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    stride(from: Number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> Number($0)) }
}
