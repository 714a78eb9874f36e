import Foundation
import Glibc
import Posix

/// The readable memory of another process.
struct ProcessMemory {
    private let file: Descriptor
    private let pid: pid_t

    init(_ pid: pid_t) throws {
        file = try Descriptor.open(path: "/proc/\(pid)/mem", O_RDONLY)
        self.pid = pid
    }

    func contains(_ pattern: [UInt8]) throws -> Bool {
        let maps = try String(contentsOfFile: "/proc/\(pid)/maps", encoding: .utf8)
        let wanted = Data(pattern)
        for line in maps.split(separator: "\n") {
            let fields = line.split(separator: " ")
            let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard fields[1].hasPrefix("r"), ends.count == 2, ends[1] < UInt64(Int64.max) else { continue }
            if piece(ends[0], ends[1]).range(of: wanted) != nil { return true }
        }
        return false
    }

    /// Only the pages that exist: most of a worker's stack and buffer was never touched.
    private func piece(_ start: UInt64, _ end: UInt64) -> Data {
        var bytes = [UInt8](repeating: 0, count: Int(min(end - start, 64 << 20)))
        let count = unsafe pread(file.number, &bytes, bytes.count, off_t(start))
        return Data(bytes[..<max(count, 0)])
    }
}
