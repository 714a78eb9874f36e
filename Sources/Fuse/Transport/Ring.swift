import CFuse
import Glibc
import Posix

/// A ring of io_uring, for requests. It belongs to the thread that makes it.
///
/// The kernel writes into the memory of a slot only while that thread is in `submit` or `wait`.
@safe
struct Ring: ~Copyable {
    struct Completion {
        /// Nil for a wakeup.
        let slot: RingSlot?
        let error: Errno?
    }

    private var raw = unsafe lk_ring()
    private var completed: [Completion] = []

    /// Submissions that are prepared at a time; more are submitted first.
    private static let room: UInt32 = 16

    /// - Throws: ENOSYS if the kernel has no io_uring, EPERM if it is forbidden, EINVAL if it is too old.
    init() throws(Errno) {
        let result = unsafe lk_ring_open(&raw, Self.room)
        guard result == 0 else { throw Errno(rawValue: result) }
    }

    deinit {
        var raw = unsafe raw
        unsafe lk_ring_close(&raw)
    }

    /// Prepares that the kernel may put requests into the slot.
    mutating func give(_ slot: RingSlot, _ device: FuseDevice) throws(Errno) {
        try unsafe prepare { raw in
            unsafe lk_ring_fetch(&raw, device.number, slot.queue, slot.parts, Self.number(slot))
        }
    }

    /// Prepares that the kernel takes the answer from the slot; then it may put the next request there.
    mutating func commit(_ slot: RingSlot, _ device: FuseDevice) throws(Errno) {
        try unsafe prepare { raw in
            unsafe lk_ring_commit(&raw, device.number, slot.queue, slot.commitID, Self.number(slot))
        }
    }

    /// Prepares a completion when `wakeup` was signalled, once.
    mutating func expect(_ wakeup: Wakeup) throws(Errno) {
        try unsafe prepare { raw in unsafe lk_ring_poll(&raw, wakeup.readable.number, 0) }
    }

    private mutating func prepare(_ body: (inout lk_ring) -> Bool) throws(Errno) {
        while unsafe !body(&raw) { try submit() }
    }

    /// Submits what is prepared. When it returns, the kernel has taken the answers.
    mutating func submit() throws(Errno) {
        // EINTR and the like: once more, until all is submitted.
        repeat { try enter(0) } while unsafe raw.prepared > 0
    }

    /// The next completion; submits what is prepared, and waits.
    mutating func wait() throws(Errno) -> Completion {
        while completed.isEmpty { try enter(1) }
        return completed.removeFirst()
    }

    /// Whether the kernel has refused what the slot was submitted for.
    func hasRefused(_ slot: RingSlot) -> Bool { completed.contains { $0.slot === slot && $0.error != nil } }

    private mutating func enter(_ wanted: UInt32) throws(Errno) {
        let result = Errno(rawValue: unsafe lk_ring_enter(&raw, wanted))
        var (number, outcome) = (UInt64(0), Int32(0))
        while unsafe lk_ring_next(&raw, &number, &outcome) {
            let slot = unsafe UnsafeRawPointer(bitPattern: UInt(number)).map { pointer in
                unsafe Unmanaged<RingSlot>.fromOpaque(pointer).takeUnretainedValue()
            }
            completed.append(Completion(slot: slot, error: outcome < 0 ? Errno(rawValue: -outcome) : nil))
        }
        switch result {
        case Errno(rawValue: 0), .EINTR, .EAGAIN, .EBUSY: return
        default: throw result
        }
    }

    private static func number(_ slot: RingSlot) -> UInt64 {
        UInt64(UInt(bitPattern: unsafe Unmanaged.passUnretained(slot).toOpaque()))
    }
}
