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
        if error == .system(.EPERM) {
            work.failure = .refused(.EPERM)
            return
        }
        let isFull = error == .system(.ENOSPC) || error == .system(.EDQUOT)
        work.failure = isFull ? .noSpace(error) : .fatal(error, doing: doing)
    }

    private func transfer(from original: Source.Opened) {
        guard let copy = work.copy, let metadata = work.metadata else { return }
        var digest = SHA256()
        var end: Int64 = 0
        do throws(ContentsError) {
            try contents(original, source, work.status).forEachPiece { (bytes, offset) throws(ContentsError) in
                digest.add(bytes)
                guard let offset else { return }
                do throws(VaultError) { try destination.write(bytes, to: copy, at: offset) } catch {
                    throw .writing(error)
                }
                end = offset + Int64(bytes.byteCount)
                progress.add(bytes: Int64(bytes.byteCount))
            }
            do throws(VaultError) {
                if end < work.status.size { try destination.truncate(copy, to: work.status.size) }
                try destination.give(metadata, to: .file(copy))
            } catch { throw .writing(error) }
        } catch {
            return fail(error, "copy")
        }
        work.digest = digest.end()
    }

    private func contents<Side: Tree>(_ file: Side.Opened, _ tree: Side, _ status: FileStatus) -> FileContents<Side> {
        FileContents(tree: tree, file: file, status: status, isStopped: isStopped)
    }

    private func fail(_ error: ContentsError, _ doing: String) {
        switch error {
        case .reading(.system(.ETXTBSY)), .writing(.system(.ETXTBSY)): work.failure = .busy
        case .reading(let error): work.failure = .source(error)
        case .writing(let error): fail(error, doing)
        }
    }

    /// Compares the copy, as the disk has it, with what was read from the original.
    func readBack() {
        guard let copy = work.copy, let metadata = work.metadata else { return }
        destination.dropCache(of: copy)
        do throws(VaultError) {
            if let original = work.original, try !source.isUnchanged(original, since: work.status) {
                work.failure = .busy
                return
            }
            let status = try destination.status(of: copy)
            work.digestOfCopy = try contents(copy, destination, status).digest()
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
            // Behind the metadata: reading a link moves its time of access.
            work.node =
                work.kind == .symbolicLink
                ? .symbolicLink(target: try source.target(of: name, in: pair.source))
                : .special(mode: work.status.mode, device: work.status.specialDevice)
        } catch {
            work.failure = .source(error)
            return
        }
        do throws(VaultError) {
            for (index, (name, pair)) in work.names.enumerated() {
                guard let status = try destination.find(name, in: pair.destination), status.kind == work.kind else {
                    continue
                }
                let there: Node =
                    work.kind == .symbolicLink
                    ? .symbolicLink(target: try destination.target(of: name, in: pair.destination))
                    : .special(mode: work.status.mode, device: status.specialDevice)
                if there == work.node { work.present.insert(index) }
            }
        } catch { fail(error, "look at the copy of") }
    }

    /// A name at the destination counts if its file has the same contents; all that count must be one file.
    private func findPresent(_ original: Source.Opened) {
        do throws(ContentsError) {
            var inode: UInt64?
            for (index, (name, pair)) in work.names.enumerated() {
                guard let (status, copy) = try found(name, pair), inode == nil || inode == status.inode else {
                    continue
                }
                if inode == nil {
                    guard try isSame(original, copy, status) else { continue }
                    work.copy = copy
                    inode = status.inode
                }
                work.present.insert(index)
            }
        } catch { fail(error, "look at the copy of") }
    }

    /// A file of the same size at the destination.
    private func found(
        _ name: Name, _ pair: FolderPair<Source, Destination>
    ) throws(ContentsError) -> (FileStatus, Destination.Opened)? {
        do throws(VaultError) {
            guard let found = try destination.find(name, in: pair.destination), found.kind == .regular,
                found.size == work.status.size
            else { return nil }
            let copy = try destination.open(name, in: pair.destination)
            return (try destination.status(of: copy), copy)
        } catch { throw .writing(error) }
    }

    private func isSame(
        _ original: Source.Opened, _ copy: Destination.Opened, _ status: FileStatus
    ) throws(ContentsError) -> Bool {
        do throws(VaultError) { work.digest = try contents(original, source, work.status).digest() } catch {
            throw .reading(error)
        }
        destination.dropCache(of: copy)
        do throws(VaultError) { work.digestOfCopy = try contents(copy, destination, status).digest() } catch {
            throw .writing(error)
        }
        return work.digest == work.digestOfCopy
    }
}
