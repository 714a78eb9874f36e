import Crypto
import SoftTPM
import TPM

/// A secret of these bytes.
func secret(_ bytes: [UInt8]) throws -> Secret {
    try unsafe Secret(copying: bytes.span.bytes)
}

func secret(_ text: String) throws -> Secret {
    try secret(Array(text.utf8))
}

extension Secret {
    /// For comparing in tests only.
    var exposed: [UInt8] {
        withBytes { bytes in bytes.byteOffsets.map { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) } }
    }
}

extension SoftTPM {
    func connect() throws -> TPM { try TPM(tcti: tcti) }
}

extension PCRSelection {
    /// What traps if they are no registers.
    static func of(_ registers: Int...) -> PCRSelection { PCRSelection(registers)! }
}
