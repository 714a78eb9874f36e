import Format
import TestSupport
import Testing

@testable import Freshness

@Suite struct BlockBoundsTests {
    /// Against a model that has a number for each block.
    @Test(arguments: 0..<8) func likeOneNumberForEachBlock(seed: UInt64) throws {
        var random = SeededRandom(seed)
        let size: UInt64 = 2600
        var bounds = BlockBounds()
        var model = [UInt64](repeating: 0, count: Int(size))
        for step in 1...400 as ClosedRange<UInt64> {
            // Mostly higher than all before, as in a file; sometimes not, as in a merge.
            let number = Int.random(in: 0..<5, using: &random) == 0 ? UInt64.random(in: 1...step, using: &random) : step
            let first = UInt64.random(in: 0..<size, using: &random)
            if Int.random(in: 0..<40, using: &random) == 0 {
                bounds.raise(from: first, to: number)
                for block in first..<size { model[Int(block)] = max(model[Int(block)], number) }
            } else {
                let end = min(size, first + UInt64.random(in: 1...(step % 7 == 0 ? 1500 : 4), using: &random))
                bounds.raise(first..<end, to: number)
                for block in first..<end { model[Int(block)] = max(model[Int(block)], number) }
            }
        }
        #expect((0..<size).allSatisfy { bounds[$0] == model[Int($0)] })
        #expect(bounds[size + 5] == bounds[.max])

        var runs = 0
        var copy = BlockBounds()
        bounds.forEachRun {
            runs += 1
            copy.take($0)
        }
        #expect(runs == bounds.count && runs > 10)
        #expect((0..<size).allSatisfy { copy[$0] == model[Int($0)] })
        var merged = BlockBounds()
        merged.raise(5..<2000, to: 77)
        merged.merge(bounds)
        #expect((0..<size).allSatisfy { merged[$0] == max(model[Int($0)], (5..<2000).contains($0) ? 77 : 0) })
    }

    @Test func nothingIsRememberedWithoutEnd() {
        var bounds = BlockBounds()
        for number in 1...200 as ClosedRange<UInt64> { bounds.raise(from: number * 10, to: number) }
        #expect(bounds.count == 64)
        // A bound that was left out is lower, never higher.
        #expect((1...200).allSatisfy { bounds[$0 * 10] <= $0 } && bounds[2000] == 200)
        bounds.raise(0..<UInt64.max, to: 201)
        #expect(bounds.count <= 64 + 1025 && bounds[0] == 201)
        bounds.take(BlockRun(first: .max, count: 5, number: 300))
        bounds.take(BlockRun(first: BlockGeometry.mostBlocks, count: 4_000_000_000, number: 300))
        #expect(bounds[BlockGeometry.mostBlocks] == 300)

        var table = BlockTable()
        let key = MarkKey.journal
        var scattered = BlockBounds()
        for block in 0..<1000 as Range<UInt64> { scattered.raise(block * 2..<block * 2 + 1, to: 5) }
        for number in 0...600 as ClosedRange<UInt64> {
            var moved = BlockBounds()
            scattered.forEachRun { run in
                moved.take(BlockRun(first: run.first + number * 2048, count: run.count, number: run.number))
            }
            table.raise(moved, of: key)
        }
        #expect(table.count <= BlockTable.mostOfFile && table.count > BlockTable.mostOfFile - 1000)
        #expect(table[key]?[0] == 5)
        table.forget(key)
        #expect(table.isEmpty && table.count == 0)
    }
}
