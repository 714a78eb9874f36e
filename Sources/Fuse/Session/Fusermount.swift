import Glibc
import Posix

/// The set-user-ID program that mounts and unmounts for ordinary users.
///
/// Source: fusermount3(1).
enum Fusermount {
    /// Mounts, and returns the device that connects to the kernel. `options` are separated by commas.
    static func mount(at path: Path, options: [UInt8]) throws(MountError) -> Descriptor {
        let complaint: Printable
        do throws(Errno) {
            let (ours, its) = try UnixSocket.pair()
            let (succeeded, text) = try Run([Array("-o".utf8), options, Array("--".utf8), path.bytes], passing: its)
                .end()
            if succeeded { return try received(ours) }
            complaint = text
        } catch {
            throw MountError(errno: error, message: "fusermount3: \(error)")
        }
        throw MountError(errno: nil, message: complaint)
    }

    private static func received(_ socket: Descriptor) throws(Errno) -> Descriptor {
        var byte: [UInt8] = [0]
        var elements = byte.mutableSpan
        var buffer = unsafe elements.mutableBytes
        guard let device = try socket.receive(into: &buffer).descriptors.first else { throw .EPROTO }
        return device
    }

    /// Unmounts; EBUSY if the mount is in use, EPERM for every other failure, which is logged.
    static func unmount(_ path: Path, lazily: Bool) throws(Errno) {
        let (succeeded, complaint) = try Run(
            (lazily ? ["-u", "-z", "--"] : ["-u", "--"]).map { Array($0.utf8) } + [path.bytes]
        ).end()
        guard !succeeded else { return }
        // The exit status is 1 for every failure; the reason is at the end of its one line of output.
        if complaint.text.hasSuffix(Errno.EBUSY.description) { throw .EBUSY }
        Log.emit(.error, complaint.text + "\n")
        throw .EPERM
    }

    /// The running program.
    private struct Run {
        private let process: pid_t
        private let errors: Descriptor

        /// Starts the program in the C locale, and passes it `socket`, through which it sends the device.
        init(_ arguments: [[UInt8]], passing socket: Descriptor? = nil) throws(Errno) {
            let pipe = try Pipe()
            defer { withExtendedLifetime(pipe) {} }
            var actions = unsafe posix_spawn_file_actions_t()
            unsafe posix_spawn_file_actions_init(&actions)
            defer { unsafe posix_spawn_file_actions_destroy(&actions) }
            unsafe posix_spawn_file_actions_adddup2(&actions, pipe.writeEnd.number, 2)
            var variables = ["LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin"]
            if let socket {
                unsafe posix_spawn_file_actions_adddup2(&actions, socket.number, 3)
                variables.append("_FUSE_COMMFD=3")
            }
            var argv = unsafe CStrings.make([Array("fusermount3".utf8)] + arguments)
            var environment = unsafe CStrings.make(variables.map { Array($0.utf8) })
            defer {
                unsafe CStrings.free(argv)
                unsafe CStrings.free(environment)
            }
            var process = pid_t()
            let result = unsafe posix_spawnp(&process, "fusermount3", &actions, nil, &argv, &environment)
            guard result == 0 else { throw Errno(rawValue: result) }
            self.process = process
            errors = pipe.readEnd
        }

        /// Waits for the end of the program; returns whether it succeeded, and its output to standard error.
        func end() throws(Errno) -> (succeeded: Bool, complaint: Printable) {
            var text: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 1024)
            while true {
                var elements = chunk.mutableSpan
                var buffer = unsafe elements.mutableBytes
                let count = try errors.read(into: &buffer)
                if count == 0 { break }
                text += chunk[..<count]
            }
            var status: Int32 = 0
            while unsafe waitpid(process, &status, 0) == -1 {
                let error = Errno.current
                guard error == .EINTR else { throw error }
            }
            if text.last == UInt8(ascii: "\n") { text.removeLast() }
            return (status == 0, Printable(bytes: text))
        }
    }
}
