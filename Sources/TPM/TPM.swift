internal import CTPM
internal import Crypto

/// A connection to a TPM 2.0; one thread at a time.
///
/// Without a resource manager (/dev/tpm0) no other program can use the TPM meanwhile, so do not keep it longer than
/// needed.
@safe
public struct TPM: ~Copyable {
    let connection: OpaquePointer

    /// Connects.
    ///
    /// The first connection of a process loads tpm2-tss and, unless TSS2_LOG is set, sets that in the environment: make
    /// it before there are threads that read the environment.
    /// - Parameter tcti: tpm2-tss's configuration of the connection, such as "device:/dev/tpmrm0" (tpm2-tss,
    ///   Tss2_TctiLdr_Initialize); nil is the first of /dev/tpmrm0, /dev/tpm0 and the resource manager on D-Bus.
    /// - Throws: `noLibrary`; `noDevice`; `crypto` if the locked heap, which OpenSSL then uses for tpm2-tss too, cannot
    ///   be set up.
    public init(tcti: String? = nil) throws(TPMError) {
        do {
            try SecureHeap.initialize()
        } catch {
            throw .crypto(error)
        }
        var opened: OpaquePointer?
        let result =
            if let tcti { unsafe lk_tpm_open(tcti, &opened) } else { unsafe lk_tpm_open(nil, &opened) }
        try check(result)
        guard let opened = unsafe opened else { throw .noDevice }
        unsafe connection = opened
    }

    deinit { unsafe lk_tpm_close(connection) }

    /// The state of the dictionary attack protection, which counts wrong authorization values for all objects of the
    /// TPM.
    ///
    /// Source: TCG TPM 2.0 part 1, section 19.8.
    public struct Lockout: Hashable, Sendable {
        /// Wrong values that are not forgotten yet. A power loss after one may count as another.
        public let failedTries: Int
        /// The number at which the TPM locks out.
        public let maximumTries: Int
        /// Seconds until one is forgotten; 0 if that never happens, or if the TPM does not count.
        public let recoverySeconds: Int
        public let isLockedOut: Bool
    }

    public var lockout: Lockout {
        get throws(TPMError) {
            var facts = lk_tpm_lockout()
            try check(unsafe lk_tpm_read_lockout(connection, &facts))
            return Lockout(
                failedTries: Int(facts.failed_tries), maximumTries: Int(facts.max_tries),
                recoverySeconds: Int(facts.recovery_seconds), isLockedOut: facts.is_locked_out != 0)
        }
    }

    /// The manufacturer's ID and its name for the model, such as "INTC SPT": printable ASCII, at most 21 bytes.
    public var name: String {
        get throws(TPMError) {
            var manufacturer = [CChar](repeating: 0, count: 5)
            var model = [CChar](repeating: 0, count: 17)
            try check(unsafe lk_tpm_read_name(connection, &manufacturer, &model))
            return [manufacturer, model]
                .map { String(decoding: $0.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) }
                .filter { !$0.isEmpty }.joined(separator: " ")
        }
    }
}
