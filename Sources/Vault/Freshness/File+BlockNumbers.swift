import Crypto
import Format
import Freshness
import Writeback

// Each block has a number in its nonce, which rises with each write to the file: an older block under the newest header
// is told by it. This machine remembers bounds of the numbers of those blocks of which an older version exists.
// docs/FORMAT.md, "Numbered blocks".

extension File {
    /// Puts a fresh nonce before each of the first `count` stored blocks of the scratch. Needs `lock` exclusively.
    ///
    /// - Returns: the number of the first block, which the others follow; nil if the file's blocks have none.
    func drawNonces(_ count: Int, _ key: FileKey, _ scratch: Scratch) throws(VaultError) -> UInt64? {
        guard state.header.numbersBlocks else {
            scratch.drawNonces(count)
            return nil
        }
        if mayHaveLostNumbers {
            mayHaveLostNumbers = false
            state.skipNumbers()
            // What was written behind the end that the header told was lost.
            newestRewritten = state.drawNumbers(1)
            rewritten.raise(
                from: BlockGeometry.blockCount(forLength: state.header.provisionalLength), to: newestRewritten)
        }
        let first = state.drawNumbers(count)
        try authentic("") { () throws(CryptoError) in
            try key.withNonceKey(of: identifier, in: vault.keys.volume) { (key) throws(CryptoError) in
                try scratch.drawNonces(count, numberedFrom: first, key)
            }
        }
        return first
    }

    /// Blocks were written anew. It is remembered once a header is in place. Needs `lock` exclusively.
    ///
    /// - Parameter number: the lowest one that they have; nil if none.
    func noteRewritten(_ blocks: Range<UInt64>, _ number: UInt64?) {
        // At the highest number, an older block has no lower one. A file without a name is not remembered yet.
        guard let number, number < BlockNumber.highest, vault.freshness != nil,
            rewritten.count < (markKeys.isEmpty ? 4096 : BlockTable.mostOfFile)
        else { return }
        rewritten.raise(blocks, to: number)
        newestRewritten = number
    }

    /// Blocks have become a hole: what will be in their place is newer than all that was. Needs `lock` exclusively.
    func notePunched(_ blocks: Range<UInt64>) {
        guard state.header.numbersBlocks else { return }
        noteRewritten(blocks, state.drawNumbers(1))
    }

    /// The backing file was truncated before a block: what will be behind it is newer than all that was. Needs `lock`
    /// exclusively.
    ///
    /// - Parameter number: drawn before the header that tells of the truncation; nil if blocks have none.
    func noteTruncated(to block: UInt64, _ number: UInt64?) {
        guard let number, number < BlockNumber.highest, let freshness = vault.freshness else { return }
        var floor = BlockBounds()
        floor.raise(from: block, to: number)
        guard state.durable.placed.generation > number, !markKeys.isEmpty else {
            rewritten.merge(floor)
            newestRewritten = max(newestRewritten, number)
            return
        }
        freshness.marks.note(floor, of: markKeys + otherKeys)
        isBounded = true
    }

    /// A header was written to the backing file, or the file has got a name: what is in place, and older than the
    /// header, is remembered. Needs `lock` exclusively.
    func rememberRewritten() {
        guard let freshness = vault.freshness, !markKeys.isEmpty, let placedMark else { return }
        if isSuperseded {
            isSuperseded = false
            forgetBoundsLocked()
        }
        guard !rewritten.isEmpty, newestRewritten < placedMark.generation else { return }
        freshness.marks.note(rewritten, of: markKeys + otherKeys)
        rewritten = BlockBounds()
        isBounded = true
    }

    /// What the file is now is as it should be. Needs no lock.
    func forgetBounds() {
        lock.withExclusive {
            forgetBoundsLocked()
            for key in allKeys { vault.freshness?.accepted(key) }
        }
    }

    private func forgetBoundsLocked() {
        for key in allKeys { vault.freshness?.marks.forgetBounds(of: key) }
        isBounded = false
    }

    private var allKeys: [MarkKey] { markKeys + state.header.bindings.map { MarkKey(identifier, at: $0) } }

    /// Whether the nonce of any block says that it is older than this machine has seen; nil if that cannot be told,
    /// because the key is not in memory or the file cannot be read.
    func hasOlderBlock() -> Bool? {
        lock.withShared { () -> Bool? in
            guard isBounded else { return false }
            // With the key, so that all that it leaves behind is wiped.
            guard let key = try? currentKey() else { return nil }
            return try? vault.memory.scratches.withScratch(key, for: .open) { (scratch) throws(VaultError) in
                let end = BlockGeometry.blockCount(forLength: state.length)
                var first: UInt64 = 0
                while first < end {
                    let pass = first..<min(first + UInt64(Scratch.blocks), end)
                    first = pass.upperBound
                    guard hasBounds(in: pass) else { continue }
                    let stored = unsafe scratch.stored(0, count: pass.count * Int(BlockGeometry.storedBlockSize))
                    _ = try unsafe readStored(stored, fromBlock: pass.lowerBound)
                    if try unsafe !olderBlocks(pass, in: stored, scratch).isEmpty { return true }
                }
                return false
            }
        }
    }

    private func hasBounds(in blocks: Range<UInt64>) -> Bool {
        vault.freshness?.marks.bounds(of: blocks, under: markKeys)?.contains { $0 > 0 } ?? false
    }

    /// The file was found under a name, and its blocks are compared with what is remembered of it there.
    package func compareBlocks(at binding: NameBinding) {
        guard let freshness = vault.freshness else { return }
        lock.withExclusive {
            markKeys = [MarkKey(identifier, at: binding)]
            isBounded = state.header.numbersBlocks && freshness.marks.hasBounds(of: markKeys[0])
        }
    }

    /// An older block that was found.
    package var olderBlock: StaleObject? {
        let keys = lock.withShared { markKeys }
        return keys.lazy.compactMap { [freshness = vault.freshness] in freshness?.foundBlock($0) }.first
    }

    /// The blocks whose nonces have lower numbers than this machine remembers: each is older if it also verifies. Needs
    /// `lock`.
    ///
    /// - Parameter stored: the stored blocks, whole ones but for the last, one behind the other.
    package func olderBlocks(
        _ blocks: Range<UInt64>, in stored: UnsafeMutableRawBufferPointer, _ scratch: Scratch
    ) throws(VaultError) -> [UInt64] {
        guard isBounded, let bounds = vault.freshness?.marks.bounds(of: blocks, under: markKeys),
            bounds.contains(where: { $0 > 0 })
        else { return [] }
        let key = try currentKey()
        let numbers = try authentic("") { () throws(CryptoError) in
            try key.withNonceKey(of: identifier, in: vault.keys.volume) { (key) throws(CryptoError) in
                try unsafe scratch.numbers(of: blocks.count, in: stored, key)
            }
        }
        // Zeros are a hole.
        return zip(blocks, zip(numbers, bounds)).compactMap { block, number in
            number.0.map { $0 < number.1 } ?? false ? block : nil
        }
    }

    /// A block is older than what this machine has seen. Throws `stale` if it is refused. Needs `lock`.
    package func foundOlder(_ block: UInt64) throws(VaultError) {
        // Of a file that is older as a whole, this was told already.
        guard let freshness = vault.freshness, !isSuperseded, let key = markKeys.first,
            let known = freshness.marks[key]
        else { return }
        freshness.tell(
            StaleObject(
                kind: .block(block), verdict: .older, remembered: known,
                written: state.header.written.seconds, place: .inode(identity.inode), key: key))
        guard freshness.answer == .refuse else { return }
        throw .stale("an older block than this machine has seen")
    }
}
