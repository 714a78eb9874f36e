import CLinux
import Glibc
import Posix

// Calls on open files.
extension Stress {
    /// One call makes a file no longer than this.
    private static let longest = 200_000

    private func offset() -> Int64 { Int64(number(below: Self.longest / Cells.size) * Cells.size) }

    /// Mostly less than a page.
    private func count() -> Int { (1 + number(below: number(below: 4) == 0 ? 8000 : 600)) * Cells.size }

    /// A socket cannot be opened: ENXIO. A pipe must not be waited for.
    func openFile() {
        guard let folder = folder() else { return }
        let name = name()
        let kind = number(below: 8)
        let isWritable = kind > 0
        let more = [0, O_CREAT, O_CREAT, O_CREAT | O_EXCL, O_CREAT | O_TRUNC, O_APPEND, O_CREAT | O_SYNC]
            .randomElement(using: &random)!
        let flags = isWritable ? O_RDWR | more : O_RDONLY
        let opened = attempt("open \(name), flags \(flags)", or: [.ENXIO], needsKey: true) { () throws(Errno) in
            try folder.open(name, flags | O_NONBLOCK, mode: 0o644)
        }
        guard let file = opened,
            demand("fstat \(name)", needsKey: false, { () throws(Errno) in try file.status() })?.kind == .regular
        else { return }
        hold(file, isWritable: isWritable, name.description)
    }

    func hold(_ file: Descriptor, isWritable: Bool, _ name: String) {
        held.append(Held(file: file, isWritable: isWritable, name: name))
    }

    /// close(2) of a second descriptor: it reports the same error.
    func close(_ held: Held) {
        demand("close \(held.name)", needsKey: false) { () throws(Errno) in
            let second = dup(held.file.number)
            guard second >= 0, Glibc.close(second) == 0 else { throw Errno.current }
        }
    }

    func useHeld() {
        guard let some = held.randomElement(using: &random) else { return }
        let file = some.file
        switch number(below: 20) {
        case 0..<5: write()
        case 5..<9: read(some)
        case 9: change("ftruncate") { file, offset, _ throws(Errno) in try file.truncate(to: offset) }
        case 10, 11:
            let mode = [
                0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
                FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            ].randomElement(using: &random)!
            change("fallocate \(mode)") { file, offset, count throws(Errno) in
                try file.allocate(mode: mode, offset: offset, length: Int64(count))
            }
        case 12, 13:
            let from = offset()
            // A descriptor with O_APPEND cannot be copied to: EBADF.
            change("copy_file_range from \(some.name)", or: [.EBADF]) { file, offset, count throws(Errno) in
                // Ranges of one file that overlap: EINVAL.
                let isApart = abs(from - offset) >= Int64(count)
                let length = isApart ? count : 0
                var (start, end) = (from, offset)
                guard unsafe lk_copy_file_range(some.file.number, &start, file.number, &end, length) >= 0 else {
                    throw Errno.current
                }
            }
        case 14, 15: throughAMapping(some)
        case 16: close(held.remove(at: number(below: held.count)))
        case 17: demand("SEEK_HOLE \(some.name)") { () throws(Errno) in try file.nextHole(from: 0) }
        default:
            // If a lock has refused stores through a mapping, the error is reported here.
            let isDataOnly = number(below: 2) == 0
            demand("fsync \(some.name)") { () throws(Errno) in try file.synchronize(dataOnly: isDataOnly) }
        }
    }

    private func change(
        _ what: String, or others: Set<Errno> = [], _ body: (Descriptor, Int64, Int) throws(Errno) -> Void
    ) {
        guard let some = held.filter(\.isWritable).randomElement(using: &random) else { return }
        let (offset, count) = (offset(), count())
        demand("\(what) \(some.name) at \(offset), \(count) bytes", or: others) { () throws(Errno) in
            try body(some.file, offset, count)
        }
    }

    func write() {
        let bytes = Cells.make(count() / Cells.size, &random)
        change("write") { file, offset, _ throws(Errno) in try unsafe file.write(bytes.span.bytes, at: offset) }
    }

    private func read(_ some: Held) {
        let (offset, count) = (offset(), count())
        let bytes = demand("read \(some.name) at \(offset), \(count) bytes") { () throws(Errno) in
            try some.file.bytes(at: offset, count: count)
        }
        check(bytes ?? [], some, offset)
    }

    private func check(_ bytes: [UInt8], _ some: Held, _ offset: Int64) {
        guard let flaw = Cells.flaw(in: bytes) else { return }
        let found = bytes.dropFirst(flaw & ~15).prefix(32)
        fail("\(some.name) at \(offset) + \(flaw) of \(bytes.count): these bytes were never written: \(Array(found))")
    }

    /// Stores or loads through a mapping, by way of the kernel. If other processes have truncated the file, or a lock
    /// has taken the page away, that fails with EFAULT, where a direct access would raise SIGBUS.
    private func throughAMapping(_ some: Held) {
        guard let size = demand("fstat", needsKey: false, { () throws(Errno) in try some.file.status() })?.size,
            size > 0
        else { return }
        let start = number(below: Int(size) / Cells.size) * Cells.size
        let count = min(count(), Int(size) - start)
        let isStore = some.isWritable && number(below: 2) == 0
        guard let memory = demand("memory", { () throws(Errno) in try Descriptor.memoryFile("cells") }) else { return }
        let protection = isStore ? PROT_READ | PROT_WRITE : PROT_READ
        let mapping = unsafe demand("mmap \(some.name)") { () throws(Errno) in
            let mapping = unsafe mmap(nil, Int(size), protection, MAP_SHARED, some.file.number, 0)
            guard unsafe mapping != MAP_FAILED, let mapping = unsafe mapping else { throw Errno.current }
            return unsafe mapping
        }
        guard let mapping = unsafe mapping else { return }
        defer { unsafe munmap(mapping, Int(size)) }
        if isStore {
            let bytes = Cells.make(count / Cells.size, &random)
            demand("store \(some.name)", or: [.EFAULT]) { () throws(Errno) in
                try unsafe memory.write(bytes.span.bytes, at: 0)
                guard unsafe pread(memory.number, mapping + start, bytes.count, 0) >= 0 else { throw Errno.current }
            }
        } else {
            let bytes = demand("load \(some.name)", or: [.EFAULT]) { () throws(Errno) in
                guard unsafe pwrite(memory.number, mapping + start, count, 0) >= 0 else { throw Errno.current }
                return try memory.bytes(at: 0, count: count)
            }
            // The last cell before a missing page may have arrived in part.
            check(Array((bytes ?? []).dropLast((bytes?.count ?? 0) % Cells.size)), some, Int64(start))
        }
    }
}

extension Descriptor {
    /// This many bytes, or as many as there are.
    func bytes(at offset: Int64, count: Int) throws(Errno) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        let got = try read(into: &span, at: offset)
        return Array(bytes.prefix(got))
    }
}
