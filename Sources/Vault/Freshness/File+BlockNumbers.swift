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
        // A file of which nothing is remembered gets no header, or has no name.
        guard let number, vault.freshness != nil, rewritten.count < BlockTable.mostOfFile else { return }
        rewritten.raise(blocks, to: number)
    }

    /// Blocks have become a hole: what will be in their place is newer than all that was. Needs `lock` exclusively.
    func notePunched(_ blocks: Range<UInt64>) {
        guard state.header.numbersBlocks else { return }
        noteRewritten(blocks, state.drawNumbers(1))
    }

    /// The header that is written next ends the file before a block: what will be behind it is newer than all that was.
    /// Needs `lock` exclusively.
    func noteTruncated(to block: UInt64) {
        guard state.header.numbersBlocks, vault.freshness != nil else { return }
        rewritten.raise(from: block, to: state.drawNumbers(1))
    }

    /// A header was written to the backing file: what is in place by then is remembered. Needs `lock` exclusively.
    func rememberRewritten() {
        guard let freshness = vault.freshness, !markKeys.isEmpty else { return }
        if isSuperseded {
            isSuperseded = false
            for key in markKeys { freshness.marks.forgetBounds(of: key) }
        }
        guard !rewritten.isEmpty else { return }
        freshness.marks.note(rewritten, of: markKeys)
        rewritten = BlockBounds()
        isBounded = true
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
        guard let freshness = vault.freshness else { return }
        for key in markKeys {
            guard let known = freshness.marks[key] else { continue }
            freshness.tell(
                StaleObject(
                    kind: .block(block), verdict: .older, remembered: known,
                    written: state.header.written.seconds, place: .inode(identity.inode), key: key))
        }
        guard freshness.answer == .refuse else { return }
        throw .stale("an older block than this machine has seen")
    }
}
