/// A set of platform configuration registers of the SHA-256 bank, 0 to 23.
///
/// Source: TCG TPM 2.0 part 1, section 17; what each measures: TCG PC Client Platform Firmware Profile, section 3.3.4.
public struct PCRSelection: Hashable, Sendable {
    /// Bit n for PCR n; the upper 8 bits are zero.
    public let mask: UInt32

    /// None: the authorization value alone unseals, whatever software was booted.
    public static let none = PCRSelection(validMask: 0)

    private init(validMask: UInt32) {
        mask = validMask
    }

    /// nil if a bit for a register beyond 23 is set.
    public init?(mask: UInt32) {
        guard mask >> 24 == 0 else { return nil }
        self.mask = mask
    }

    /// nil if a register is not in 0 to 23.
    public init?(_ registers: some Sequence<Int>) {
        var mask: UInt32 = 0
        for register in registers {
            guard 0..<24 ~= register else { return nil }
            mask |= 1 << UInt32(register)
        }
        self.mask = mask
    }

    /// Decimal numbers separated by commas, such as "0,2,7", in any order; an empty text is the empty set.
    public init?(_ text: String) {
        guard !text.isEmpty else {
            self = .none
            return
        }
        var registers: [Int] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            // Int would also accept "+7".
            guard part.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let register = Int(part) else { return nil }
            registers.append(register)
        }
        self.init(registers)
    }

    public var isEmpty: Bool { mask == 0 }

    /// In ascending order.
    public var registers: [Int] { (0..<24).filter { mask >> UInt32($0) & 1 == 1 } }
}

extension PCRSelection: CustomStringConvertible {
    /// In the format of `init(_:)`.
    public var description: String { registers.map(String.init).joined(separator: ",") }
}
