extension Attack {
    /// The keybag: attackers without the device key, and with it.
    static let keybag = [
        keybag("flip a byte of the keybag") { bench in
            for offset in bench.current.indices {
                for mask in [1, 0x80, 0xFF] as [UInt8] {
                    var bytes = bench.current
                    bytes[offset] ^= mask
                    try bench.attempt("byte \(offset) by \(mask)", ["lk.keybag": .file(bytes)], expecting: .refusal)
                }
            }
        },
        keybag("truncate or lengthen the keybag") { bench in
            for size in bench.current.indices {
                try bench.attempt(
                    "truncated to \(size)", ["lk.keybag": .file(Array(bench.current[..<size]))], expecting: .refusal)
            }
            for tail in [[0], [UInt8](repeating: 0, count: 64), bench.current, [UInt8](repeating: 7, count: 70_000)] {
                try bench.attempt(
                    "\(tail.count) bytes more", ["lk.keybag": .file(bench.current + tail)], expecting: .refusal)
            }
        },
        keybag("exchange, remove or repeat a record of the keybag") { bench in
            for bytes in bench.rearranged {
                try bench.attempt("records rearranged", ["lk.keybag": .file(bytes)], expecting: .refusal)
            }
        },
        keybag("change a byte of the keybag, having the device key") { bench in
            // The last 32 bytes are the device MAC itself.
            for offset in bench.current.indices.dropLast(32) {
                var bytes = bench.current
                bytes[offset] ^= 1
                try bench.attempt(
                    "byte \(offset)", ["lk.keybag": .file(bench.sealed(bytes))], expecting: .refusalWhenUnlocked)
            }
        },
        keybag("exchange, remove or repeat a record, having the device key") { bench in
            for bytes in bench.rearranged {
                try bench.attempt(
                    "records rearranged", ["lk.keybag": .file(bench.sealed(bytes))], expecting: .refusalWhenUnlocked)
            }
        },
        keybag("put another vault's keybag, or something else, there") { bench in
            let foreign = try TamperScene().current.bytes("lk.keybag")
            for node in [.file(foreign), .file([]), .folder(), .link(Array("/etc/passwd".utf8)), .fifo]
                as [BackingImage.Node]
            {
                try bench.attempt("\(node)", ["lk.keybag": node], expecting: .refusal)
                try bench.attempt("\(node) twice", ["lk.keybag": node, "lk.keybag.old": node], expecting: .refusal)
            }
            try bench.attempt("none", [:], expecting: .refusal)
            try bench.attempt("a foreign lk.keybag.old", ["lk.keybag.old": .file(foreign)], expecting: .refusal)
            for name in ["lk.keybag.old", "lk.keybag.new"] {
                for planted in [foreign, bench.older, []] {
                    try bench.attempt(
                        "\(name) beside a whole one", ["lk.keybag": .file(bench.current), name: .file(planted)],
                        expecting: .opening(passcode: KeybagBench.newPasscode))
                }
            }
        },
        keybag("put an older keybag back") { bench in
            let older = BackingImage.Node.file(bench.older)
            try bench.attempt("older", ["lk.keybag": older], expecting: .refusal, remembering: true)
            for broken in [nil, .file([]), .fifo, .file(bench.current.dropLast() + [0])] as [BackingImage.Node?] {
                var nodes = ["lk.keybag.old": older]
                nodes["lk.keybag"] = broken
                try bench.attempt("older as lk.keybag.old", nodes, expecting: .refusal, remembering: true)
            }
            for planted in [bench.current, bench.older] {
                try bench.attempt(
                    "older, with lk.keybag.old", ["lk.keybag": older, "lk.keybag.old": .file(planted)],
                    expecting: .refusal, remembering: true)
            }
            try bench.attempt(
                "the newest", ["lk.keybag": .file(bench.current)],
                expecting: .opening(passcode: KeybagBench.newPasscode), remembering: true)
        },
        keybag(
            "put an older keybag back, on a machine that has not seen the newer one",
            Documented(.other, "*An older keybag, on a machine that has not seen the newer one.*")
        ) { bench in
            let older = BackingImage.Node.file(bench.older)
            try bench.attempt("older", ["lk.keybag": older], expecting: .opening(passcode: TamperScene.passcode))
            for broken in [nil, .file([]), .fifo, .file(bench.current.dropLast() + [0])] as [BackingImage.Node?] {
                var nodes = ["lk.keybag.old": older]
                nodes["lk.keybag"] = broken
                try bench.attempt("older as lk.keybag.old", nodes, expecting: .opening(passcode: TamperScene.passcode))
            }
        },
    ]

    private static func keybag(
        _ name: String, _ documented: Documented? = nil, _ attempts: @escaping @Sendable (KeybagBench) throws -> Void
    ) -> Attack {
        Attack(
            name, documented,
            tallying: { (scene, extent) in
                let bench = try KeybagBench(scene, extent)
                try attempts(bench)
                return bench.tally
            })
    }
}

extension KeybagBench {
    /// The keybag with its records in another order, one of them missing, or one twice.
    fileprivate var rearranged: [[UInt8]] {
        let records = self.records
        var orders: [[[UInt8]]] = []
        for one in records.indices {
            orders.append(records.enumerated().filter { $0.offset != one }.map(\.element))
            orders.append(Array(records[...one]) + Array(records[one...]))
            for other in records.indices where one < other {
                var order = records
                order.swapAt(one, other)
                orders.append(order)
            }
        }
        return orders.map { order in
            var bytes = Array(current[..<52]) + order.flatMap { $0 } + current.suffix(64)
            for shift in 0..<4 { bytes[12 + shift] = UInt8(truncatingIfNeeded: bytes.count >> (8 * shift)) }
            return bytes
        }
    }

    /// docs/FORMAT.md, "The keybag".
    private var records: [[UInt8]] {
        var records: [[UInt8]] = []
        var start = 52
        while start < current.count - 64 {
            let length = (0..<4).reduce(0) { $0 | Int(current[start + 4 + $1]) << (8 * $1) }
            records.append(Array(current[start..<start + 8 + length]))
            start += 8 + length
        }
        return records
    }
}
