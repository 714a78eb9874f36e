import SoftTPM
import TPM

extension SoftTPM {
    func connect() throws -> TPM { try TPM(tcti: tcti) }
}

extension PCRSelection {
    /// What traps if they are no registers.
    static func of(_ registers: Int...) -> PCRSelection { PCRSelection(registers)! }
}
