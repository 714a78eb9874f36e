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

    /// Makes the storage root key persistent, so that it is there without the owner's password (TPM2_CreatePrimary,
    /// TPM2_EvictControl), and restarts.
    public func keepStorageKey() throws {
        let area: [UInt8] = [
            0, 0x23, 0, 0x0b, 0, 3, 4, 0x72, 0, 0, 0, 6, 0, 0x80, 0, 0x43, 0, 0x10, 0, 3, 0, 0x10, 0, 0, 0, 0,
        ]
        let parameters = [0, 4, 0, 0, 0, 0, 0, UInt8(area.count)] + area + [0, 0, 0, 0, 0, 0]
        let response = try execute(0x131, handle: Self.ownerHierarchy, parameters)
        let key = response[0..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        try execute(0x120, handle: Self.ownerHierarchy, and: key, bigEndian(UInt32(0x8100_0001)))
        try powerCycle()
    }

    /// Makes an index that is no counter (TPM2_NV_DefineSpace).
    public func defineOrdinaryIndex(_ index: UInt32, size: UInt16 = 8) throws {
        let area = bigEndian(index) + [0, 0x0b, 0, 6, 0, 6, 0, 0] + bigEndian(size)
        try execute(0x12a, handle: Self.ownerHierarchy, [0, 0, 0, UInt8(area.count)] + area)
    }

    /// Increments a counter with the owner's authorization (TPM2_NV_Increment).
    public func incrementAsOwner(counter index: UInt32) throws {
        try execute(0x134, handle: Self.ownerHierarchy, and: index, [])
    }

    /// Removes an index, as anyone can while the owner has no password (TPM2_NV_UndefineSpace).
    public func removeAsOwner(index: UInt32) throws {
        try execute(0x122, handle: Self.ownerHierarchy, and: index, [])
    }

    /// The indices that are defined (TPM2_GetCapability, TPM_CAP_HANDLES).
    public func definedIndices() throws -> [UInt32] {
        let body =
            bigEndian(UInt32(0x17a)) + bigEndian(UInt32(1)) + bigEndian(UInt32(0x0100_0000)) + bigEndian(UInt32(100))
        let response = try exchange(bigEndian(UInt16(0x8001)) + bigEndian(UInt32(body.count + 6)) + body)
        // After the head: whether there are more, the capability, the count.
        return stride(from: 19, to: response.count - 3, by: 4).map { start in
            response[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
    }

    private static var ownerHierarchy: UInt32 { 0x4000_0001 }
    private static var lockoutHierarchy: UInt32 { 0x4000_000a }

    /// Runs a command with one handle, authorized by an empty password, or with another one after that, which needs no
    /// authorization. Returns what follows the head of its response.
    @discardableResult public func execute(
        _ code: UInt32, handle: UInt32, and other: UInt32? = nil, _ parameters: [UInt8]
    ) throws -> [UInt8] {
        // A session for passwords, no nonce, no attributes, and the password.
        let authorization = bigEndian(UInt32(0x4000_0009)) + [0, 0, 0, 0, 0]
        var body = bigEndian(code) + bigEndian(handle) + (other.map(bigEndian) ?? [])
        body += bigEndian(UInt32(authorization.count)) + authorization + parameters
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
