import Fuse
import Glibc
import Posix
import Synchronization

/// `passthrough [-o OPTION[,OPTION...]] DIRECTORY MOUNTPOINT`
///
/// Options of its own are the cases of `Passthrough.Lack`, what the file system does without, and `ring`: requests come
/// by io_uring, `short-ring`: with memory that is too short, which the kernel refuses, and `one-short-slot`: with one
/// slot of that kind.
///
/// Says "mounted" when it serves, and which nodes are left when it has ended. Takes commands, one a line, from standard
/// input; end of input is ignored. SIGTERM unmounts lazily.
@main
struct Main {
    private enum Way { case device, ring, shortRing, oneShortSlot }

    static func main() {
        var arguments = CommandLine.arguments.dropFirst()
        var options = ["subtype=passthrough"]
        var lacks: Set<Passthrough.Lack> = []
        var transport = Way.device
        if arguments.first == "-o", arguments.count > 1 {
            let words = arguments.dropFirst().first!.split(separator: ",").map(String.init)
            lacks = Set(words.compactMap { Passthrough.Lack(rawValue: $0) })
            options += words.filter {
                Passthrough.Lack(rawValue: $0) == nil && !["ring", "short-ring", "one-short-slot"].contains($0)
            }
            transport =
                words.contains("short-ring")
                ? .shortRing
                : words.contains("one-short-slot") ? .oneShortSlot : words.contains("ring") ? .ring : .device
            arguments = arguments.dropFirst(2)
        }
        guard arguments.count == 2, let directory = arguments.first, let mountPoint = arguments.last else {
            fail("usage: passthrough [-o OPTION[,OPTION...]] DIRECTORY MOUNTPOINT", code: 2)
        }
        do {
            try serve(directory, at: mountPoint, options, lacks, transport)
        } catch {
            fail("passthrough: \(error)", code: 1)
        }
    }

    private static func serve(
        _ directory: String, at mountPoint: String, _ options: [String], _ lacks: Set<Passthrough.Lack>,
        _ transport: Way
    ) throws {
        // The kernel sends modes with the umask applied; the pass-through needs one descriptor per inode.
        umask(0)
        _ = try ProcessLimits.raiseOpenFiles()
        let signals = try SignalDescriptor(blocking: [SIGTERM, SIGINT])
        let before = openDescriptors()

        let session = try mount(directory, at: mountPoint, options, lacks, transport)
        Background.run {
            _ = try? signals.next()
            _ = try? session.session.unmount(lazily: true)
        }
        let commands = Commands(session.session, session.fileSystem)
        // An unmount ends `run` before the command is answered: the exit waits for the answer.
        let turn = Mutex(())
        Background.run { while let line = readLine() { turn.withLock { _ in say(commands.run(line)) } } }
        try session.session.run(threads: 12)
        turn.withLock { _ in }
        // A thread whose open was interrupted may still be about to close the descriptor.
        for _ in 0..<500 where openDescriptors() > before { usleep(2_000) }
        let files = session.fileSystem.files.count + session.fileSystem.directories.count
        let destructions = session.fileSystem.destructions.load(ordering: .relaxed)
        say("ended handles=\(files) descriptors=\(openDescriptors() - before) destroyed=\(destructions)")
        exit(0)
    }

    private static func mount(
        _ directory: String, at mountPoint: String, _ options: [String], _ lacks: Set<Passthrough.Lack>,
        _ transport: Way
    ) throws -> (session: Session, fileSystem: Passthrough) {
        let number = unsafe Glibc.open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC)
        if number < 0 { throw Errno.current }
        let fileSystem = try Passthrough(root: Descriptor(owning: number), lacks) { connection in
            say("mounted protocol=\(connection.major).\(connection.minor) write=\(connection.maxWrite)")
        }
        var configuration = Configuration()
        configuration.privileges = .clearedByFileSystem
        configuration.transport = transport == .device ? .device : .ring
        configuration.shortSlotsForTest = transport == .shortRing ? .max : transport == .oneShortSlot ? 1 : 0
        let session = Session(fileSystem: fileSystem, configuration: configuration)
        try session.mount(at: Path(mountPoint), options: options)
        return (session, fileSystem)
    }

    private static func openDescriptors() -> Int {
        guard let directory = unsafe opendir("/proc/self/fd") else { return 0 }
        defer { unsafe closedir(directory) }
        var count = 0
        while unsafe readdir(directory) != nil { count += 1 }
        return count
    }

    private static func fail(_ message: String, code: Int32) -> Never {
        say(message, to: 2)
        exit(code)
    }
}

/// One line, at once; on standard output unless told otherwise.
func say(_ line: String, to descriptor: Int32 = 1) {
    let text = Array((line + "\n").utf8)
    _ = unsafe Glibc.write(descriptor, text, text.count)
}

/// Threads without Swift's concurrency.
enum Background {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    static func run(_ body: @escaping @Sendable () -> Void) {
        let retained = unsafe Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { body in
                unsafe Unmanaged<Body>.fromOpaque(body!).takeRetainedValue().run()
                return nil
            }, retained.toOpaque())
        precondition(result == 0, "no thread")
        pthread_detach(thread)
    }
}
