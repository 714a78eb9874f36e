package import Format
package import Sharing

extension LeaseObject {
    /// The object of a file or a folder, by 60 bits of its ID.
    package init(fingerprint: UInt64) { self.init(number: fingerprint & ((1 << 60) - 1)) }
}

extension MachineTag {
    package var machine: MachineNumber { MachineNumber(bytes.reduce(0) { $0 << 8 | UInt64($1) }) }
}

extension MachineNumber {
    package var tag: MachineTag {
        MachineTag((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) })
    }
}
