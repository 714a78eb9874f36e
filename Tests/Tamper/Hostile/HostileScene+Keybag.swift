/// Hostile keybags: both MACs are valid.
extension HostileScene {
    private func keybag(_ name: String, _ change: @escaping (inout KeybagBytes) -> Void) -> () -> HostileVault {
        {
            var vault = HostileVault("keybag: \(name)", self.good)
            var keybag = KeybagBytes(vault.image.bytes("lk.keybag"))
            change(&keybag)
            let bytes = self.forge.keybag(keybag.bytes)
            vault.image.edit("lk.keybag") { $0 = bytes }
            return vault
        }
    }

    /// Type of record, offset in its value, bytes.
    private static let fields: [(UInt8, Int, Int)] = [
        (1, 0, 8), (1, 8, 2), (1, 10, 1), (1, 11, 1), (1, 12, 4), (16, 0, 4), (16, 4, 8), (16, 12, 1), (16, 13, 1),
        (16, 24, 4), (17, 0, 4), (17, 4, 8),
    ]

    var keybags: [() -> HostileVault] { heads + settings + costs + slots }

    private var heads: [() -> HostileVault] {
        [(8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (44, 8)].flatMap { (offset, count) in
            Edges.of(count).map { value in
                keybag("head, \(offset) \(value)") { $0.head.put(value, count, at: offset) }
            }
        }
    }

    private var settings: [() -> HostileVault] {
        Self.fields.flatMap { (type, offset, count) in
            (Edges.of(count) + (count == 2 ? [55, 56, 57] : [])).map { value in
                keybag("record \(type), \(offset) \(value)") { keybag in
                    keybag.records[keybag.index(of: type)].put(value, count, at: 8 + offset)
                }
            }
        }
    }

    /// Memory, passes and lanes of a passcode, at the limits of what the format allows and beyond.
    private var costs: [() -> HostileVault] {
        let ranges: [(Int, [UInt64])] = [
            (16, [0, 1, 8, 19_455, 19_456, 19_457, 4_194_305, 1 << 31, (1 << 32) - 1]),
            (20, [0, 1, 2, 63, 64, 65, 1 << 31, (1 << 32) - 1]), (24, [0, 1, 2, 15, 16, 17, 1 << 24, (1 << 32) - 1]),
        ]
        return ranges.flatMap { (offset, values) in
            values.map { value in
                keybag("cost, \(offset) \(value)") { keybag in
                    keybag.records[keybag.index(of: 16)].put(value, 4, at: 8 + offset)
                }
            }
        } + [
            {
                var vault = self.keybag("the most memory") { keybag in
                    let index = keybag.index(of: 16)
                    keybag.records[index].put(4_194_304, 4, at: 8 + 16)
                    keybag.records[index].put(1, 4, at: 8 + 20)
                }()
                vault.isCostly = true
                return vault
            }
        ]
    }

    /// Slots of all kinds: lengths that contradict each other, too many slots, and slots of one number.
    private var slots: [() -> HostileVault] {
        let head = Forge.bytes(77, 4) + Forge.bytes(1, 8)
        var cases: [() -> HostileVault] = []
        for type in [1, 2, 3, 4, 5, 15, 16, 17, 18, 19, 20, 21, 22, 23, 255, 256, 65_535] as [UInt16] {
            for count in [0, 1, 3, 11, 12, 27, 43, 44, 235, 236, 237, 243, 244, 276, 500, 60_000] {
                cases.append(
                    keybag("record of type \(type) and \(count) bytes") { keybag in
                        let value = (head + [UInt8](repeating: 0, count: count)).prefix(count)
                        keybag.records.append(KeybagBytes.record(type, Array(value)))
                    })
            }
        }
        for size in Edges.of(2) {
            cases.append(
                keybag("sealed by a TPM, of \(size) bytes") { keybag in
                    var value = Array(keybag.records[keybag.index(of: 16)].dropFirst(8))
                    value.replaceSubrange(44..<44, with: Forge.bytes(size, 2) + [UInt8](repeating: 5, count: 1024))
                    value.put(99, 4, at: 0)
                    keybag.records.append(KeybagBytes.record(21, value))
                })
            cases.append(
                keybag("security key, of \(size) bytes") { keybag in
                    let wrap = [UInt8](repeating: 5, count: 200)
                    keybag.records.append(
                        KeybagBytes.record(
                            22, head + [3, 0] + Forge.bytes(size, 2) + [UInt8](repeating: 5, count: 32 + 1024) + wrap))
                })
        }
        for count in [2, 100, 220] {
            cases.append(
                keybag("\(count) slots of a recovery key") { keybag in
                    let slot = keybag.records[keybag.index(of: 17)]
                    for number in 0..<count {
                        var copy = slot
                        copy.put(UInt64(1000 + number), 4, at: 8)
                        keybag.records.insert(copy, at: 3)
                    }
                })
        }
        for label in ["\u{1B}[2J\u{7}", "\u{202E}", "a\nb", "\0", String(repeating: "l", count: 255)] {
            cases.append(
                keybag("a label of \(label.utf8.count) bytes") { keybag in
                    let index = keybag.index(of: 17)
                    let value = Array(keybag.records[index].dropFirst(8)) + Array(label.utf8)
                    keybag.records[index] = KeybagBytes.record(17, value)
                })
        }
        return cases
    }

    // MARK: Rotation

    /// Previous keys that open nothing, that have other lengths, that the features do not announce, and that come
    /// twice.
    var rotations: [() -> HostileVault] {
        [0, 40, 135, 136, 137, 175, 176, 177, 1000].flatMap { count in
            [false, true].flatMap { isTold in
                [0, 255].map { (filling: UInt8) in
                    keybag("previous keys of \(count) bytes of \(filling), announced: \(isTold)") { keybag in
                        keybag.head.put(isTold ? 1 : 0, 4, at: 24)
                        keybag.records.insert(
                            KeybagBytes.record(4, [UInt8](repeating: filling, count: count)), at: 3)
                    }
                }
            }
        } + [
            keybag("a feature without previous keys") { $0.head.put(1, 4, at: 24) },
            keybag("previous keys twice") { keybag in
                keybag.head.put(1, 4, at: 24)
                for _ in 0..<2 {
                    keybag.records.insert(KeybagBytes.record(4, [UInt8](repeating: 1, count: 176)), at: 3)
                }
            },
        ]
    }
}
