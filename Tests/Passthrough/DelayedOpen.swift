import Fuse
import Glibc
import Posix
import Synchronization

/// An open that is answered later, by a thread of its own, while the worker that took it goes on with other requests.
final class DelayedOpen: Sendable {
    private let reply: Mutex<Reply<Opened>?>
    private let fileSystem: Passthrough
    private let file: Descriptor
    private let milliseconds = Atomic<Int>(0)

    init(_ reply: consuming Reply<Opened>, _ fileSystem: Passthrough, _ file: Descriptor) {
        self.reply = Mutex(consume reply)
        self.fileSystem = fileSystem
        self.file = file
    }

    func start(milliseconds: Int) {
        self.milliseconds.store(milliseconds, ordering: .relaxed)
        let open = unsafe Unmanaged.passRetained(self)
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { open in
                unsafe Unmanaged<DelayedOpen>.fromOpaque(open!).takeRetainedValue().finish()
                return nil
            }, open.toOpaque())
        if result == 0 {
            pthread_detach(thread)
        } else {
            unsafe open.takeRetainedValue().finish()
        }
    }

    private func finish() {
        usleep(UInt32(milliseconds.load(ordering: .relaxed)) * 1000)
        let taken = reply.withLock { reply in reply.take() }
        if let reply = taken { fileSystem.finish(reply, file) }
    }
}
