import Crypto
import Glibc
import Posix
import Vault

/// What the threads of a batch do with one entry. It ends with `work.failure` if it fails.
struct Stage<Source: SourceTree, Destination: Tree>: @unchecked Sendable {
    let source: Source
    let destination: Destination
    let work: Work<Source, Destination>
    let progress: MigrationProgress
    let isStopped: @Sendable () -> Bool

    private static var bufferSize: Int64 { 1 << 20 }

    init(
        _ source: Source, _ destination: Destination, _ work: Work<Source, Destination>, _ progress: MigrationProgress,
        _ isStopped: @escaping @Sendable () -> Bool
    ) {
        self.source = source
        self.destination = destination
        self.work = work
        self.progress = progress
        self.isStopped = isStopped
    }

    /// Makes the copy, or finds one that an interrupted run has left under the name.
    func copyOver() {
        guard work.isFile else { return readNode() }
        let (name, pair) = work.names[0]
        let original: Source.Opened
        do throws(VaultError) {
            if isStopped() { throw .system(.EINTR) }
            original = try source.open(name, in: pair.source)
            work.original = original
            work.status = try source.status(of: original)
            work.metadata = try source.metadata(of: .file(original))
        } catch {
            work.failure = error == .system(.ETXTBSY) ? .busy : .source(error)
            return
        }
        findPresent(original)
        guard work.failure == nil, work.present.isEmpty else { return }
        do throws(VaultError) { work.copy = try destination.stage(name, in: pair.destination) } catch {
            return fail(error, "make a copy of")
        }
        transfer(from: original)
    }

    private func fail(_ error: VaultError, _ doing: String) {
        let isFull = error == .system(.ENOSPC) || error == .system(.EDQUOT)
        work.failure = isFull ? .noSpace(error) : .fatal(error, doing: doing)
    }

    private func transfer(from original: Source.Opened) {
        guard let copy = work.copy, let metadata = work.metadata else { return }
        var digest = SHA256()
        var end: Int64 = 0
        do throws(StageError) {
            try pieces(of: original, in: source, work.status) { (bytes, offset) throws(StageError) in
                guard let bytes else { return }
                do throws(VaultError) { try destination.write(bytes, to: copy, at: offset) } catch {
                    throw .destination(error)
                }
                end = offset + Int64(bytes.byteCount)
                progress.add(bytes: Int64(bytes.byteCount))
            } digest: {
                digest.add($0)
            }
            do throws(VaultError) {
                if end < work.status.size { try destination.truncate(copy, to: work.status.size) }
                try destination.give(metadata, to: .file(copy))
            } catch { throw .destination(error) }
        } catch {
            switch error {
            case .source(let error): work.failure = error == .system(.ETXTBSY) ? .busy : .source(error)
            case .destination(let error): fail(error, "copy")
            }
            return
        }
        work.digest = digest.end()
    }

    /// Compares the copy, as the disk has it, with what was read from the original.
    func readBack() {
        guard let copy = work.copy, let metadata = work.metadata else { return }
        destination.dropCache(of: copy)
        do throws(VaultError) {
            let status = try destination.status(of: copy)
            work.digestOfCopy = try digest(of: copy, in: destination, status)
            guard status.size == work.status.size, work.digestOfCopy == work.digest else {
                throw .damaged("the copy on the disk is not what was written there")
            }
            if let difference = metadata.difference(from: try destination.metadata(of: .file(copy))) {
                throw .unseen("the \(difference) of the copy is not that of the original")
            }
        } catch {
            work.failure = error == .system(.EINTR) ? .source(error) : .fatal(error, doing: "read back")
        }
    }

    // MARK: What is there already

    private func readNode() {
        let (name, pair) = work.names[0]
        let metadata: Metadata
        do throws(VaultError) { metadata = try source.metadata(of: .node(name, in: pair.source)) } catch {
            work.failure = .source(error)
            return
        }
        work.metadata = metadata
        do throws(VaultError) {
            for (index, (name, pair)) in work.names.enumerated() {
                guard let status = try destination.find(name, in: pair.destination), status.kind == work.kind else {
                    continue
                }
                let isSame =
                    work.kind == .symbolicLink
                    ? try destination.target(of: name, in: pair.destination)
                        == source.target(of: work.names[0].name, in: work.names[0].pair.source)
                    : status.specialDevice == work.status.specialDevice
                if isSame { work.present.insert(index) }
            }
        } catch { fail(error, "look at the copy of") }
    }

    /// A name at the destination counts if its file has the same contents; all that count must be one file.
    private func findPresent(_ original: Source.Opened) {
        do throws(StageError) {
            var inode: UInt64?
            for (index, (name, pair)) in work.names.enumerated() {
                let found: FileStatus?
                let copy: Destination.Opened?
                do throws(VaultError) {
                    found = try destination.find(name, in: pair.destination)
                    guard let found, found.kind == .regular, found.size == work.status.size,
                        inode == nil || inode == found.inode
                    else { continue }
                    copy = inode == nil ? try destination.open(name, in: pair.destination) : nil
                } catch { throw .destination(error) }
                if let copy {
                    do throws(VaultError) { work.digest = try digest(of: original, in: source, work.status) } catch {
                        throw .source(error)
                    }
                    do throws(VaultError) {
                        let digest = try digest(of: copy, in: destination, try destination.status(of: copy))
                        guard digest == work.digest else { continue }
                    } catch { throw .destination(error) }
                    work.copy = copy
                    inode = found?.inode
                }
                work.present.insert(index)
            }
        } catch {
            switch error {
            case .source(let error): work.failure = .source(error)
            case .destination(let error): fail(error, "look at the copy of")
            }
        }
    }

    // MARK: Contents

    private enum StageError: Error {
        case source(VaultError)
        case destination(VaultError)
    }

    private func digest<Side: Tree>(
        of file: Side.Opened, in tree: Side, _ status: FileStatus
    ) throws(VaultError) -> [UInt8] {
        var digest = SHA256()
        do throws(StageError) {
            try pieces(of: file, in: tree, status) { (_, _) in
            } digest: {
                digest.add($0)
            }
        } catch {
            switch error {
            case .source(let error), .destination(let error): throw error
            }
        }
        return digest.end()
    }

    /// Reads a file piece by piece. `body` gets each piece of data with its offset; `digest` also the zeros of holes.
    private func pieces<Side: Tree>(
        of file: Side.Opened, in tree: Side, _ status: FileStatus,
        _ body: (RawSpan?, Int64) throws(StageError) -> Void, digest: (RawSpan) -> Void
    ) throws(StageError) {
        let size = status.size
        let count = Int(min(Self.bufferSize, max(size, 1)))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 4096)
        defer { unsafe buffer.deallocate() }
        let mayHaveHoles = status.blocks * 512 < size
        var offset: Int64 = 0
        while offset < size {
            let data: Range<Int64>
            do throws(VaultError) {
                let found = mayHaveHoles ? try tree.data(of: file, from: offset) : offset..<size
                data = (found?.clamped(to: offset..<size)) ?? size..<size
            } catch { throw .source(error) }
            try unsafe addZeros(data.lowerBound - offset, buffer, digest)
            offset = data.lowerBound
            while offset < data.upperBound {
                if isStopped() { throw .source(.system(.EINTR)) }
                let wanted = Int(min(Int64(count), data.upperBound - offset))
                var span = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]).mutableBytes
                let read: Int
                do throws(VaultError) { read = try tree.read(file, into: &span, at: offset) } catch {
                    throw .source(error)
                }
                // A program has made it shorter.
                guard read > 0 else { throw .source(.system(.ETXTBSY)) }
                let piece = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<read]).bytes
                digest(piece)
                try body(piece, offset)
                offset += Int64(read)
            }
        }
    }

    private func addZeros(
        _ count: Int64, _ buffer: UnsafeMutableRawBufferPointer, _ digest: (RawSpan) -> Void
    ) throws(StageError) {
        guard count > 0 else { return }
        unsafe memset(buffer.baseAddress!, 0, buffer.count)
        var left = count
        while left > 0 {
            if isStopped() { throw .source(.system(.EINTR)) }
            let part = Int(min(left, Int64(buffer.count)))
            digest(unsafe UnsafeRawBufferPointer(rebasing: buffer[..<part]).bytes)
            left -= Int64(part)
        }
    }
}
