import Crypto
import Format
import Glibc
import Keybag
import Posix
import Store

extension CheckWorker {
    /// Blocks of a large file that one worker verifies at a time: 8 MiB.
    private static let pieceSize: UInt64 = 2048
    private static let storedSize = Int(BlockGeometry.storedBlockSize)
    private static let overhead = Int(BlockGeometry.overhead)

    /// Verifies all blocks of a file, of which the scratch holds the first `head` bytes.
    func verify(_ contents: CheckedContents, head: Int) {
        let trail = contents.folder.trail
        do throws(VaultError) {
            contents.key = try vault.key(of: contents.header)
        } catch {
            contents.loseMissing()
            report(contents)
            return report(error, .key, "its key cannot be unwrapped", in: trail, contents.name, contents.stored)
        }
        contents.loseMissing()
        let blocks = 0..<min(contents.firstMissingBlock, contents.blockCount)
        // What came with the header, whole blocks or all of the file.
        let read = head - FileHeader.byteCount
        let first = head == Int(contents.size) ? blocks.upperBound : UInt64(read / Self.storedSize)
        contents.begin(pieces: 1)
        withKey(of: contents) {
            verifyRead(blocks.clamped(to: 0..<first), of: contents, from: FileHeader.byteCount, head)
        }
        check.progress.count(bytes: read)
        var start = min(first, blocks.upperBound)
        check.progress.advance(by: contents.part * (contents.blockCount - blocks.upperBound + start))
        while start < blocks.upperBound {
            let piece = start..<min(start + Self.pieceSize, blocks.upperBound)
            contents.begin(pieces: 1)
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
        guard let key = contents.key, (try? scratch.cipher.setKey(key.secret, for: .open)) != nil else { return }
        defer {
            scratch.cipher.clear()
            scratch.wipePlain()
        }
        body()
    }

    /// A hole reads as zeros, and there may be very much of it: the next block at or after `block` with data in it.
    private func skipHole(at block: UInt64, of contents: CheckedContents) -> UInt64 {
        guard block >= contents.header.firstSparseBlock else { return block }
        let offset = BlockGeometry.backingOffset(ofBlock: block)
        do throws(Errno) {
            guard let data = try store.nextData(of: contents.file, from: Int64(offset)) else { return .max }
            return block + (UInt64(data) - offset) / BlockGeometry.storedBlockSize
        } catch {
            return block
        }
    }

    /// One pass of the scratch: one read. Where the disk fails, block by block, so that only what is bad is lost.
    private func readAndVerify(_ blocks: Range<UInt64>, of contents: CheckedContents) {
        do throws(VaultError) {
            let wanted = min(
                UInt64(blocks.count * Self.storedSize),
                contents.size - BlockGeometry.backingOffset(ofBlock: blocks.lowerBound))
            let count = try read(
                contents.file, at: BlockGeometry.backingOffset(ofBlock: blocks.lowerBound), Int(wanted))
            check.progress.count(bytes: count)
            verifyRead(blocks, of: contents, from: 0, count)
        } catch {
            if blocks.count > 1 {
                for block in blocks { readAndVerify(block..<block + 1, of: contents) }
            } else {
                lose(blocks, of: contents)
            }
        }
    }

    private func lose(_ blocks: Range<UInt64>, of contents: CheckedContents) {
        var lost = LostRanges()
        lost.add(contents.bytes(of: blocks))
        contents.lose(lost)
    }

    /// Verifies blocks that lie in the scratch from `offset` on, up to `end`.
    private func verifyRead(_ blocks: Range<UInt64>, of contents: CheckedContents, from offset: Int, _ end: Int) {
        for block in blocks {
            let start = offset + Int(block - blocks.lowerBound) * Self.storedSize
            let stored = unsafe UnsafeRawBufferPointer(
                rebasing: scratch.stored[min(start, end)..<min(start + Self.storedSize, end)])
            guard unsafe !verifies(stored, block, of: contents) else { continue }
            lose(block..<block + 1, of: contents)
        }
    }

    private func verifies(_ stored: UnsafeRawBufferPointer, _ block: UInt64, of contents: CheckedContents) -> Bool {
        let live = contents.bytes(of: block..<block + 1).count
        guard stored.count >= live + Self.overhead else { return false }
        return unsafe scratch.opens(stored, block: block, of: contents.header)
    }

    /// Reports what was lost of a file, if anything.
    func report(_ contents: CheckedContents) {
        let lost = contents.lost
        guard !lost.isEmpty else { return }
        let length = contents.header.length
        let isCut = contents.size < BlockGeometry.backingSize(forLength: length)
        let reason =
            "\(lost.byteCount) of \(length) bytes are lost"
            + (isCut ? ": the backing file is cut off" : ": blocks that do not verify")
        let trail = contents.folder.trail
        damage(.contents, reason, path: trail.path(of: contents.name), in: trail, contents.stored, lost: lost)
    }
}

extension Check {
    /// Whether no file can turn out to be locked.
    var hasAllKeys: Bool { ProtectionClass.allCases.allSatisfy(vault.canOpen) }
}

extension Vault {
    /// The key of the file with this header; `locked` when the key of its class is away.
    func key(of header: FileHeader) throws(VaultError) -> FileKey {
        do throws(KeyRingError) {
            return FileKey(
                try ring.unwrap(
                    FileKeyWrap(algorithm: header.protection.wrapAlgorithm, bytes: header.protection.wrap),
                    file: header.file,
                    class: header.protectionClass))
        } catch { throw VaultError(error) }
    }
}

extension Scratch {
    /// Whether a stored block is what a file with this header may have there; its key is in the cipher. The plaintext
    /// goes into the first plain block, and is the caller's to wipe.
    func opens(_ stored: UnsafeRawBufferPointer, block: UInt64, of header: FileHeader) -> Bool {
        if block >= header.firstSparseBlock, unsafe stored.bytes.isZero(0..<stored.count) { return true }
        var data: InlineArray<40, UInt8> = .init(repeating: 0)
        do {
            var elements = data.mutableSpan
            var span = unsafe elements.mutableBytes
            BlockGeometry.storeAssociatedData(volume: header.volume, file: header.file, block: block, into: &span)
        }
        do throws(CryptoError) {
            var opened = unsafe MutableRawSpan(
                _unsafeBytes: plain(0, count: stored.count - Int(BlockGeometry.overhead)))
            try cipher.open(
                unsafe stored[BlockGeometry.nonceSize...].rebased.bytes,
                nonce: unsafe stored[..<BlockGeometry.nonceSize].rebased.bytes,
                associatedData: unsafe data.span.bytes, into: &opened)
            return true
        } catch {
            return false
        }
    }
}
