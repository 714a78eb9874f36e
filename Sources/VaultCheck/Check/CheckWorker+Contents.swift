import Crypto
import Format
import Glibc
import Posix
import Store
import Vault

extension CheckWorker {
    /// Blocks of a large file that one worker verifies at a time: 8 MiB.
    private static let pieceSize: UInt64 = 2048
    private static let storedSize = Int(BlockGeometry.storedBlockSize)

    /// Verifies all confirmed blocks of a file, of which the scratch holds the first `head` bytes.
    func verify(_ contents: CheckedContents, head: Int) {
        do throws(VaultError) { _ = try contents.file.currentKey() } catch {
            report(contents)
            return report(error, .key, "its key cannot be unwrapped", at: contents.spot)
        }
        let blocks = 0..<contents.firstMissingBlock
        // What came with the header, whole blocks or all of the file.
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

    /// Verifies a piece of a large file.
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

    /// The next block at or after `block` with data in it: of a hole there may be very much. Where the header allows
    /// none, its blocks are lost.
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

    /// One pass of the scratch: one read. Where the disk fails, block by block, so that only what is bad is lost.
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

    /// Verifies blocks that lie in the scratch from `offset` on, where the backing file has them up to `end`.
    private func verifyRead(_ blocks: Range<UInt64>, of contents: CheckedContents, from offset: Int, _ end: Int) {
        for block in blocks {
            let start = offset + Int(block - blocks.lowerBound) * Self.storedSize
            do throws(VaultError) {
                _ = try unsafe contents.file.openStored(
                    scratch.stored[start..<min(start + Self.storedSize, scratch.stored.count)].rebased,
                    available: end - start, block: block, into: scratch.plain(0, count: Int(BlockGeometry.blockSize)),
                    scratch)
            } catch {
                contents.lose(block..<block + 1)
            }
        }
    }

    /// Reports what was lost of a file, if anything.
    func report(_ contents: CheckedContents) {
        let lost = contents.lost
        guard !lost.isEmpty else { return }
        let why = contents.isTruncated ? "the backing file is truncated" : "blocks that do not verify"
        let reason: Printable = "\(lost.byteCount) of \(contents.length) bytes are lost: \(why)"
        damage(.contents, reason, at: contents.spot, lost: lost)
    }
}

extension Check {
    /// Whether no file can turn out to be locked.
    var hasAllKeys: Bool { ProtectionClass.allCases.allSatisfy(vault.canOpen) }
}
