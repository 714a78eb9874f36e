import Glibc
import Posix

/// The processors of this machine, by their numbers.
struct Processors: Sendable {
    let possible, online: [Int]

    /// Source: Documentation/ABI/testing/sysfs-devices-system-cpu.
    init() throws(Errno) {
        possible = try Self.list("possible")
        online = try Self.list("online")
    }

    private static func list(_ name: String) throws(Errno) -> [Int] {
        let bytes = try Descriptor.open(path: "/sys/devices/system/cpu/\(name)", O_RDONLY).bytes(atMost: 4096)
        let numbers = parse(String(decoding: bytes, as: UTF8.self))
        guard !numbers.isEmpty else { throw .EINVAL }
        return numbers
    }

    /// Such as "0-3,8". Numbers that are no 16 bits long, and what is no number, are left out.
    static func parse(_ text: String) -> [Int] {
        text.split { $0 == "," || $0.isWhitespace }.flatMap { range -> [Int] in
            let ends = range.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, 0 <= first, first <= last, last <= UInt16.max else {
                return []
            }
            return Array(first...last)
        }
    }
}
