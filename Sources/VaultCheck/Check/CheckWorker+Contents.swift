import Crypto
import Format
import Glibc
import Posix
import Store
import Vault

extension CheckWorker {
    /// How many blocks of a large file a worker verifies at a time: 8 MiB.
    private static let pieceSize: UInt64 = 2048
    private static let storedSize = Int(BlockGeometry.storedBlockSize)

    /// Verifies all confirmed blocks of a file. The scratch already holds the file's first `head` bytes.
    func verify(_ contents: CheckedContents, head: Int) {
        do throws(VaultError) { _ = try contents.file.currentKey() } catch {
            report(contents)
            return report(error, .key, "its key cannot be unwrapped", at: contents.spot)
        }
        let blocks = 0..<contents.firstMissingBlock
        // What was read with the header: whole blocks, or the whole file.
        let read = head - FileHeader.byteCount
        let isAll = head == Int(contents.size) && !contents.isInJournal
        let first = isAll ? blocks.upperBound : UInt64(read / Self.storedSize)
        var start = min(first, blocks.upperBound)
        contents.begin()
        withKey(of: contents) { verifyRead(0..<start, of: contents, from: FileHeader.byteCount, head) }
        check.progress.count(bytes: read)
        check.progress.advance(by: contents.part * (contents.blockCount - blocks.upperBound + start))
        while start < blocks.upperBound, !check.isCancelled {
            let data = min(skipHole(at: start, of: contents), blocks.upperBound)
            check.progress.advance(by: contents.part * (data - start))
            start = data
            guard start < blocks.upperBound else { break }
            let piece = start..<min(start + Self.pieceSize, blocks.upperBound)
            contents.begin()
            if !check.queue.offer(.blocks(contents, piece)) { verify(piece, of: contents) }
            start = piece.upperBound
        }
        finishPiece(of: contents)
    }

    /// Verifies some blocks of a large file.
    func verify(_ blocks: Range<UInt64>, of contents: CheckedContents) {
        withKey(of: contents) {
            var start = blocks.lowerBound
            while start < blocks.upperBound, !check.isCancelled {
                let data = min(skipHole(at: start, of: contents), blocks.upperBound)
                let pass = data..<min(data + UInt64(Scratch.blocks), blocks.upperBound)
                if !pass.isEmpty { readAndVerify(pass, of: contents) }
                check.progress.advance(by: contents.part * (pass.upperBound - start))
                start = pass.upperBound
            }
        }
        finishPiece(of: contents)
    }

    private func finishPiece(of contents: CheckedContents) {
        guard contents.end(), !check.isCancelled else { return }
        report(contents)
    }

    private func withKey(of contents: CheckedContents, _ body: () -> Void) {
        do throws(VaultError) {
            let key = try contents.file.currentKey()
            try authentic("no cipher") { () throws(CryptoError) in try scratch.cipher.setKey(key.secret, for: .open) }
        } catch {
            return report(error, .unchecked, "its contents cannot be verified", at: contents.spot)
        }
        defer {
            scratch.cipher.clear()
            scratch.wipePlain()
        }
        body()
    }

    /// The next block at or after `block` that has data: a hole may be very large. Where the header does not allow a
    /// hole, its blocks are lost.
    private func skipHole(at block: UInt64, of contents: CheckedContents) -> UInt64 {
        let data = nextData(at: block, of: contents)
        if block < contents.firstSparseBlock, block < data {
            contents.lose(block..<min(data, contents.firstSparseBlock, contents.blockCount))
        }
        return data
    }

    private func nextData(at block: UInt64, of contents: CheckedContents) -> UInt64 {
        let journaled = contents.firstJournaledBlock(from: block)
        let offset = BlockGeometry.backingOffset(ofBlock: block)
        do throws(Errno) {
            guard let data = try store.nextData(of: contents.file.descriptor, from: Int64(offset)) else {
                return journaled
            }
            return min(journaled, block + (UInt64(data) - offset) / BlockGeometry.storedBlockSize)
        } catch {
            return block
        }
    }

    /// Reads and verifies as many blocks as the scratch holds. If the read fails, tries each block, so that only bad
    /// ones are lost.
    private func readAndVerify(_ blocks: Range<UInt64>, of contents: CheckedContents) {
        do throws(VaultError) {
            let count = try unsafe contents.file.readStored(
                scratch.stored(0, count: blocks.count * Self.storedSize), fromBlock: blocks.lowerBound)
            check.progress.count(bytes: count)
            verifyRead(blocks, of: contents, from: 0, count)
        } catch {
            if blocks.count > 1 {
                for block in blocks { readAndVerify(block..<block + 1, of: contents) }
            } else {
                contents.lose(blocks)
            }
        }
    }

    /// Verifies blocks that lie in the scratch from `offset` on. What was read ends at `end`.
    private func verifyRead(_ blocks: Range<UInt64>, of contents: CheckedContents, from offset: Int, _ end: Int) {
        var older: [UInt64] = []
        do throws(VaultError) {
            older = try unsafe contents.file.olderBlocks(
                blocks, in: scratch.stored[min(offset, scratch.stored.count)...].rebased, scratch)
        } catch { report(error, .unchecked, "its blocks cannot be compared", at: contents.spot) }
        for block in blocks {
            let start = offset + Int(block - blocks.lowerBound) * Self.storedSize
            let stored = unsafe scratch.stored[start..<min(start + Self.storedSize, scratch.stored.count)].rebased
            do throws(VaultError) {
                let count = try unsafe contents.file.openStored(
                    stored, available: end - start, block: block,
                    into: scratch.plain(0, count: Int(BlockGeometry.blockSize)), scratch)
                guard older.contains(block), count > Int(BlockGeometry.overhead) else { continue }
                try contents.file.foundOlder(block)
            } catch {
                contents.lose(block..<block + 1)
            }
        }
    }

    /// Reports the lost ranges of a file, and a block that is older than what this machine has seen, if there are any.
    func report(_ contents: CheckedContents) {
        check.report(contents.file.olderBlock, contents.spot)
        let lost = contents.lost
        guard !lost.isEmpty else { return }
        let why = contents.isTruncated ? "the backing file is truncated" : "blocks that do not verify"
        let reason: Printable = "\(lost.byteCount) of \(contents.length) bytes are lost: \(why)"
        damage(.contents, reason, at: contents.spot, lost: lost)
    }
}

extension Check {
    /// Whether the ring has the keys of all classes.
    var hasAllKeys: Bool { ProtectionClass.allCases.allSatisfy(vault.canOpen) }
}
