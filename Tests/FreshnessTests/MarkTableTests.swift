import Format
import Testing

@testable import Freshness

@Suite struct MarkTableTests {
    private func mark(
        _ generation: UInt64, isGone: Bool = false, time: UInt32 = 1, kind: Mark.Kind = .file
    ) -> Mark {
        Mark(generation: generation, digest: 7, time: time, protectionClass: .complete, isGone: isGone, kind: kind)
    }

    /// The same as a dictionary, for random acts. Few keys share a home, and many keys follow one another.
    @Test(arguments: [1, 2, 3]) func isADictionary(seed: UInt64) {
        var random = Random(seed)
        var (table, model) = (MarkTable(), [MarkKey: Mark]())
        for turn in 0..<40_000 {
            let near = turn % 2 == 0
            let key = MarkKey(near ? random.next() % 600 << 40 : random.next(), UInt32(random.next() % 3))
            switch random.next() % 4 {
            case 0, 1:
                let kind = Mark.Kind(rawValue: UInt8(random.next() % 3))!
                let value = mark(random.next(), isGone: random.next() % 3 == 0, kind: kind)
                table.set(value, for: key)
                model[key] = value
            case 2:
                let victim = random.next() % 2 == 0 ? key : model.randomElement(using: &random)?.key ?? key
                table.remove(victim)
                model[victim] = nil
            default:
                let isSame = table[key] == model[key]
                #expect(isSame)
            }
        }
        #expect(table.count == model.count)
        let gone = model.values.filter(\.isGone)
        #expect(table.goneCount.values == gone.count { $0.kind == .value })
        #expect(table.goneCount.names == gone.count { $0.kind != .value })
        let isSame = model.allSatisfy { table[$0.key] == $0.value }
        #expect(isSame)
        var listed: [MarkKey: Mark] = [:]
        table.forEach { listed[$0] = $1 }
        #expect(listed.count == model.count)
    }

    /// At most 64 bytes a name, from a thousand names on.
    @Test func size() {
        var random = Random(9)
        var table = MarkTable()
        var worst = 0.0
        for number in 1...300_000 {
            table.set(mark(1), for: MarkKey(random.next(), 0))
            if number >= 2000, number % 500 == 0 { worst = max(worst, Double(table.byteCount) / Double(number)) }
        }
        #expect(worst <= 64, "\(worst) bytes a name")
    }

    @Test func theOlderHalfOfWhatIsGoneIsForgotten() {
        var table = MarkTable()
        for number in 0..<1000 {
            table.set(mark(1, isGone: true, time: UInt32(number)), for: MarkKey(UInt64(number) << 50, 1))
        }
        for number in 0..<100 { table.set(mark(1), for: MarkKey(UInt64(number) << 50, 2)) }
        for number in 0..<10 {
            table.set(mark(1, isGone: true, time: 0, kind: .value), for: MarkKey(UInt64(number) << 50, 3))
        }
        #expect(table.goneCount.names == 1000 && table.goneBeyond(1000, ofValues: false).isEmpty)
        #expect(table.goneCount.values == 10 && table.goneBeyond(10, ofValues: true).isEmpty)
        let forgotten = table.goneBeyond(999, ofValues: false)
        #expect(forgotten == (0..<501).map { MarkKey(UInt64($0) << 50, 1) })
        #expect(table.goneBeyond(9, ofValues: true).count == 6)
    }

    @Test func verdicts() {
        let present = mark(5), gone = mark(5, isGone: true)
        func found(_ generation: UInt64, _ blocks: UInt32 = 0, digest: UInt32 = 7) -> Mark {
            Mark(generation: generation, blocks: blocks, digest: digest, time: 9, protectionClass: .none)
        }
        #expect(present.verdict(on: found(4)) == .older)
        #expect(present.verdict(on: found(5)) == .same)
        #expect(present.verdict(on: found(5, 1)) == .newer)
        #expect(present.verdict(on: found(5, digest: 8)) == .conflict)
        #expect(present.verdict(on: found(6, digest: 8)) == .newer)
        #expect(found(5, 3).verdict(on: found(5, 2)) == .older)
        for generation in [UInt64(4), 5] { #expect(gone.verdict(on: found(generation)) == .back) }
        #expect(gone.verdict(on: found(6)) == .newer)
    }

    @Test func keys() {
        let one = FileIdentifier(Array(0..<16)), other = NameBinding([UInt8](repeating: 1, count: 16))
        let key = MarkKey(one, at: other)
        #expect(key == MarkKey(0x0607_0405_0203_0001, 0x0A0B_0809))
        #expect(key != MarkKey(one, at: .zero))
    }

    /// Each field counts but for the confirmed length.
    @Test func digests() {
        var header = FileHeader(
            volume: VolumeIdentifier(Array(0..<16)), file: FileIdentifier(Array(0..<16)),
            protection: FileProtection(
                protectionClass: .complete, isExplicit: false, wrapAlgorithm: 1, wrap: [UInt8](repeating: 1, count: 40)),
            binding: .zero)
        let first = header.digestWithoutLength
        header.length = 4096
        #expect(header.digestWithoutLength == first)
        header.provisionalLength = 4096
        let second = header.digestWithoutLength
        header.written = FileTime(seconds: 0, nanoseconds: 1)
        #expect(Set([first, second, header.digestWithoutLength]).count == 3)
    }
}

/// SplitMix64.
struct Random: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}
