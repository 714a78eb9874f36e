/// Hostile headers, and lengths that contradict each other.
extension HostileScene {
    /// docs/FORMAT.md, "Files".
    private static let fields = [
        (8, 2), (10, 2), (12, 4), (16, 4), (20, 4), (56, 1), (57, 1), (58, 1), (59, 1), (60, 2), (62, 1), (63, 1),
        (64, 8), (72, 8), (80, 8), (88, 8), (96, 1), (97, 1), (98, 2), (100, 4), (312, 8), (320, 4), (324, 4), (328, 8),
        (336, 4), (340, 4), (344, 8), (352, 8),
    ]

    var headers: [() -> HostileVault] {
        let edges = Self.fields.flatMap { (offset, count) in Edges.of(count).map { (offset, count, $0) } }
        return Crowd.vaults("headers", of: edges, self) { crowd, edge in
            let (offset, count, value) = edge
            crowd.addFile("header \(offset) \(value)") { $0.put(value, count, at: offset) }
        } + lengths + times
    }

    private var lengths: [() -> HostileVault] {
        let lengths: [UInt64] = [0, 1, 4096, 9000, 12_289, 1 << 31, 1 << 40, (1 << 62) - 1, 1 << 62]
        var cases: [(UInt64, UInt64, UInt64, Int64)] = []
        for pending in lengths {
            for length in lengths where length <= pending {
                for sparse in [0, 1, 3, 1 << 28, 1 << 50, .max - 1, .max] as [UInt64] {
                    for size in [512, 0, 513, 1 << 32, 1 << 43] as [Int64] {
                        cases.append((length, sparse, pending, size))
                    }
                }
            }
        }
        return Crowd.vaults("lengths", of: cases, each: 120, self) { crowd, item in
            let (length, sparse, pending, size) = item
            let path = crowd.addFile("lengths \(length) \(sparse) \(pending) \(size)") { bytes in
                bytes.put(length, 8, at: 72)
                bytes.put(sparse, 8, at: 80)
                bytes.put(pending, 8, at: 88)
            }
            // Zero stands for the size that the file has.
            if size != 0 { crowd.end(path, at: size) }
        }
    }

    /// Times of the backing files, which no MAC covers, with the stamps of headers and summaries that match them.
    private var times: [() -> HostileVault] {
        let edges: [Int64] = [.min, .min + 1, -(1 << 40), -1, 0, 1, 1 << 31, 1 << 34, 1 << 40, .max - 1, .max]
        var cases: [(Int64, Int64)] = []
        for time in edges { for stamp in edges { cases.append((time, stamp)) } }
        return Crowd.vaults("times", of: cases, self) { crowd, item in
            let (time, stamp) = item
            let path = crowd.addFile("time \(time) \(stamp)") { bytes in
                bytes.put(UInt64(bitPattern: stamp), 8, at: 344)
                bytes.put(UInt64(bitPattern: stamp), 8, at: 352)
                bytes.put(UInt64(bitPattern: stamp), 8, at: 328)
                bytes.put(UInt64(bitPattern: stamp), 8, at: 312)
            }
            crowd.date(path, time)
        }
    }
}

extension Crowd {
    mutating func end(_ path: String, at size: Int64) { vault.sizes[path] = size }
    mutating func date(_ path: String, _ time: Int64) { vault.times[path] = time }
}
