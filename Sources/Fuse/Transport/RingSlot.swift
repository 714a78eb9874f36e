import CFuse
import Glibc
import Posix
import Synchronization

/// Memory that the kernel fills with one request at a time, and takes the answer from.
///
/// It belongs to the kernel until a completion, then to the thread that receives it, and to the thread that answers.
@safe
final class RingSlot: @unchecked Sendable {  // unchecked: see above; what hands it from thread to thread has a lock
    let queue: UInt16
    private unowned let dispatcher: RingDispatcher
    private let memory: UnsafeMutableRawBufferPointer
    /// Of the memory: the header and the payload, as the kernel wants them.
    let parts: UnsafeMutablePointer<iovec>
    /// Nil before `protect`.
    private var isLocked: Bool?

    /// The thread that has received the request, if that thread can send the answer.
    private var worker: RingWorker?
    private(set) var commitID: UInt64 = 0
    /// Bytes of the request's payload.
    private var receivedCount = 0
    private var answerCount = 0
    /// No answer to the request yet.
    private let owed = Atomic(false)
    var isOwed: Bool { owed.load(ordering: .relaxed) }
    /// The answer is contents of a file.
    private var holdsContents = false
    /// The request is contents of a file that may be locked.
    var isSecret = false
    /// Counts the requests.
    private var number: UInt64 = 0
    /// The number of the last secret request that was answered. A leaf: no other lock is taken under it. Lock order:
    /// docs/ARCHITECTURE.md.
    private let wiped = Mutex<UInt64>(0)

    struct Handled {
        let node: UInt64
        /// The node is a regular file.
        let isFile: Bool
    }

    /// A page, so that the payload begins with one.
    private static let headerSize = 4096

    init(queue: UInt16, payload: Int, _ dispatcher: RingDispatcher) throws(Errno) {
        self.queue = queue
        self.dispatcher = dispatcher
        let size = Self.headerSize + payload
        let start = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start = unsafe start, unsafe start != MAP_FAILED else { throw .current }
        // A process that this one starts gets none of it, and core files do not either.
        unsafe madvise(start, size, MADV_DONTFORK)
        unsafe madvise(start, size, MADV_DONTDUMP)
        unsafe memory = UnsafeMutableRawBufferPointer(start: start, count: size)
        unsafe parts = .allocate(capacity: 2)
        unsafe parts.initialize(to: iovec(iov_base: start, iov_len: MemoryLayout<lk_ring_header>.size))
        unsafe (parts + 1).initialize(to: iovec(iov_base: start + Self.headerSize, iov_len: payload))
    }

    deinit {
        if let isLocked { unsafe ContentsMemory.release(memory, wasLocked: isLocked) }
        unsafe munmap(memory.baseAddress, memory.count)
        unsafe parts.deallocate()
    }

    /// Keeps the memory out of swap and core files. Does nothing the second time.
    func protect() {
        if isLocked == nil { isLocked = unsafe ContentsMemory.protect(memory) }
    }

    private var header: UnsafeMutablePointer<lk_ring_header> {
        unsafe memory.baseAddress!.assumingMemoryBound(to: lk_ring_header.self)
    }

    private var payload: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[Self.headerSize...])
    }

    /// Bytes that the kernel has put into the payload.
    private var payloadCount: Int { unsafe min(Int(header.pointee.entry.payload_size), payload.count) }

    /// Has the file system handle the request that the kernel has put there.
    ///
    /// - Parameter worker: the thread that this runs on, if it can send answers.
    /// - Returns: what the request was for: the slot may have the next one by now.
    func serve(by session: Session, on worker: RingWorker?) -> Handled {
        protect()
        owed.store(true, ordering: .relaxed)
        self.worker = worker
        isSecret = false
        holdsContents = false
        commitID = unsafe header.pointee.entry.commit_id
        receivedCount = payloadCount
        self.number += 1
        let number = self.number
        let received = unsafe Received(
            header: UnsafeRawPointer(header).loadUnaligned(as: fuse_in_header.self),
            fixed: UnsafeRawBufferPointer(rebasing: memory[128..<256]),
            payload: UnsafeRawBufferPointer(rebasing: payload[..<receivedCount]))
        let handled = Handled(node: received.header.nodeid, isFile: received.opcode?.isOfFile ?? false)
        let count = receivedCount
        if received.opcode == .notifyReply {
            // What `Rings.flushQueue` has raised. On /dev/fuse it has no answer.
            _ = unsafe answer(nil, UnsafeRawBufferPointer(start: nil, count: 0), holdsContents: false)
            return handled
        }
        let wasSecret = Handling.run(self) { session.serve(received, .ring(self)) }
        // If it is not answered yet, another thread will answer. What a program wrote does not wait for that.
        if wasSecret { wiped.withLock { if $0 < number { wipe(from: 0, to: count) } } }
        return handled
    }

    /// Puts the answer there, and gives it to the kernel, which has it when this returns. On any thread, once.
    ///
    /// - Returns: false if the connection has ended.
    func answer(_ error: Errno?, _ bytes: UnsafeRawBufferPointer, holdsContents: Bool) -> Bool {
        owed.store(false, ordering: .relaxed)
        let error = unsafe bytes.count > payload.count ? .EIO : error
        answerCount = error == nil ? bytes.count : 0
        self.holdsContents = holdsContents && answerCount > 0
        if isSecret {
            wiped.withLock { wiped in
                wipe(from: 0, to: receivedCount)
                wiped = number
            }
        }
        if answerCount > 0 { unsafe payload.copyMemory(from: bytes) }
        unsafe UnsafeMutableRawPointer(header).storeBytes(
            of: fuse_out_header(
                len: UInt32(MemoryLayout<fuse_out_header>.size + answerCount), error: -(error?.rawValue ?? 0),
                unique: commitID),
            as: fuse_out_header.self)
        unsafe header.pointee.entry = lk_ring_entry(
            flags: 0, commit_id: commitID, payload_size: UInt32(answerCount), padding: 0, reserved: 0)
        if let worker {
            if worker.isThisThread { return worker.commit(self) }
            if let isTaken = worker.commitLate(self) { return isTaken }
        }
        return dispatcher.commit(self)
    }

    /// Wipes what a program has read, after the kernel has taken it, and leaves what it has put there since.
    func wipeAnswer() {
        guard holdsContents else { return }
        holdsContents = false
        let isRefilled = unsafe header.pointee.entry.commit_id != commitID
        wipe(from: isRefilled ? payloadCount : 0, to: answerCount)
    }

    private func wipe(from start: Int, to end: Int) {
        guard start < end else { return }
        unsafe explicit_bzero(payload.baseAddress! + start, end - start)
    }
}
