extension Attack {
    /// The journal of a vault whose daemon has died.
    static let journal = [
        journal("flip a byte of the journal's head") { bench in
            for offset in 0..<512 {
                for mask in [1, 0x80, 0xFF] as [UInt8] {
                    try bench.attempt("byte \(offset) by \(mask)", expecting: .refusal) {
                        $0.edit("lk.journal") { $0[offset] ^= mask }
                    }
                }
            }
            for size in 0..<512 {
                try bench.attempt("truncated to \(size)", expecting: .refusal) {
                    $0.edit("lk.journal") { $0.removeSubrange(size...) }
                }
            }
            for node in [.file([]), .folder(), .link([65]), .fifo] as [BackingImage.Node] {
                try bench.attempt("\(node)", expecting: .refusal) { $0.replace("lk.journal", by: node) }
            }
            let foreign = try TamperScene().current.bytes("lk.journal")
            try bench.attempt("another vault's", expecting: .refusal) { $0.edit("lk.journal") { $0 = foreign } }
        },
        journal("change what lies between the journal's records") { bench in
            let free = bench.free
            for offset in stride(from: free.lowerBound, to: free.upperBound, by: 997) {
                try bench.attempt("byte \(offset)", expecting: .right) { $0.edit("lk.journal") { $0[offset] ^= 0xFF } }
            }
            for offset in stride(from: 512, to: 4096, by: 7) {
                try bench.attempt("byte \(offset)", expecting: .right) { $0.edit("lk.journal") { $0[offset] ^= 0xFF } }
            }
        },
        journal("flip a byte of a record of the journal", .journal) { bench in
            for (number, record) in bench.records.enumerated() {
                let voided = try bench.reference { $0.edit("lk.journal") { $0.clear(record) } }
                // Everything before and behind the payload, which is mostly ciphertext.
                for offset in record
                where offset < record.lowerBound + 80 || offset >= record.upperBound - 40 || offset % 61 == 0 {
                    try bench.attempt("byte \(offset) of record \(number)", expecting: .same(voided)) {
                        $0.edit("lk.journal") { $0[offset] ^= 1 << UInt8(offset % 8) }
                    }
                }
            }
        },
        journal("move, swap or repeat records of the journal", .journal) { bench in
            let records = bench.records
            let whole = bench.journal
            for one in records {
                for other in records where one != other {
                    try bench.attempt("\(one) over \(other)", expecting: .earlier) {
                        $0.edit("lk.journal") { $0.put(whole[one], at: other.lowerBound) }
                    }
                    guard one.lowerBound < other.lowerBound else { continue }
                    try bench.attempt("\(one) and \(other) swapped", expecting: .earlier) {
                        $0.edit("lk.journal") { journal in
                            journal.put(whole[one], at: other.lowerBound)
                            journal.put(whole[other], at: one.lowerBound)
                        }
                    }
                }
            }
        },
        journal("truncate, remove or put back the journal", .journal) { bench in
            for record in bench.records {
                for size in [record.lowerBound - 1, record.lowerBound, record.lowerBound + 1, record.upperBound - 1] {
                    try bench.attempt("truncated to \(size)", expecting: .earlier) {
                        $0.edit("lk.journal") { $0.removeSubrange(size...) }
                    }
                }
            }
            try bench.attempt("removed", expecting: .earlier) { $0.remove("lk.journal") }
            let earlier = bench.earlier.bytes("lk.journal")
            try bench.attempt("an earlier one", expecting: .earlier) { $0.edit("lk.journal") { $0 = earlier } }
            try bench.attempt("an earlier head", expecting: .earlier) {
                $0.edit("lk.journal") { $0.put(earlier[..<512], at: 0) }
            }
        },
        journal(
            "empty a file or take a directory's record after a power loss",
            Documented(.missing, "*A file emptied, or a directory without its record, after a power loss.*")
        ) { bench in
            for letter in TamperScene.classes.map(\.letter) {
                for size in PlainTree.sizes {
                    try bench.attemptOrphan("\(letter)/\(size)") { (image, stored) in image.edit(stored) { $0 = [] } }
                }
                for folder in ["folder", PlainTree.longFolder] {
                    try bench.attemptOrphan("\(letter)/\(folder)") { (image, stored) in
                        image.remove(stored + "/lk.dir")
                    }
                }
            }
        },
    ]

    private static func journal(
        _ name: String, _ documented: Documented? = nil, _ attempts: @escaping @Sendable (JournalBench) throws -> Void
    ) -> Attack {
        Attack(
            name, documented,
            tallying: { (scene, extent) in
                let bench = try JournalBench(scene, extent)
                try attempts(bench)
                return bench.tally
            })
    }
}

extension Documented {
    static let journal = Documented(.other, "*The journal truncated, removed or put back as it was.*")
}

extension [UInt8] {
    fileprivate mutating func clear(_ range: Range<Int>) {
        replaceSubrange(range, with: repeatElement(0, count: range.count))
    }

    fileprivate mutating func put(_ bytes: ArraySlice<UInt8>, at offset: Int) {
        replaceSubrange(offset..<Swift.min(count, offset + bytes.count), with: bytes.prefix(count - offset))
    }
}

extension JournalBench {
    /// Where the records of the first part lie: the session was too short to reach the second one.
    fileprivate var records: [Range<Int>] {
        let bytes = journal
        func integer(_ offset: Int, _ count: Int) -> Int {
            (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
        }
        var records: [Range<Int>] = []
        var position = 0
        while true {
            let candidates = [position, (position + 511) / 512 * 512]
            let found = candidates.first { candidate in
                let start = 4096 + candidate
                guard start + 96 <= bytes.count else { return false }
                let size = integer(start, 4)
                return size >= 96 && size % 8 == 0 && start + size <= bytes.count && integer(start + 16, 8) == candidate
                    && (records.isEmpty || integer(start + 8, 8) == integer(4096 + 8, 8))
            }
            guard let found else { return records }
            records.append(4096 + found..<4096 + found + integer(4096 + found, 4))
            position = found + integer(4096 + found, 4)
        }
    }

    /// The bytes behind the last record.
    fileprivate var free: Range<Int> { records.last!.upperBound..<journal.count }
}
