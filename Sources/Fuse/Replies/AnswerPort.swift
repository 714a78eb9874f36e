import CFuse
import Posix

/// By which way a request has come, and its answer goes.
enum Channel: Sendable {
    case device(FuseDevice)
    case ring(RingSlot)
}

/// Where the answer to one request goes.
///
/// Without references that count: the session's threads keep it alive, with its device and its rings, and `wait` waits
/// for the last answer.
@safe
struct AnswerPort: @unchecked Sendable {  // unchecked: a request is answered once, which the reply's ownership ensures
    @safe private enum Way {
        case device(Unmanaged<FuseDevice>)
        case ring(Unmanaged<RingSlot>)
    }

    private let owner: Unmanaged<Session>
    let unique: UInt64
    private let way: Way
    private let call: StaleAnswers.Call

    init(_ session: Session, unique: UInt64, _ channel: Channel, _ call: StaleAnswers.Call) {
        unsafe owner = Unmanaged.passUnretained(session)
        self.unique = unique
        self.call = call
        switch channel {
        case .device(let device): unsafe way = .device(Unmanaged.passUnretained(device))
        case .ring(let slot): unsafe way = .ring(Unmanaged.passUnretained(slot))
        }
    }

    var session: Session { unsafe owner.takeUnretainedValue() }

    /// Answers with an error. On ESTALE the kernel repeats the call; a second one becomes ENOENT.
    func fail(_ error: Errno) {
        let error = session.stale.answer(to: call, error)
        _ = unsafe send(error, UnsafeRawBufferPointer(start: nil, count: 0), holdsContents: false)
    }

    /// Answers without an error; false if the kernel did not take it.
    ///
    /// - Parameter holdsContents: the bytes are contents of a file, which must not stay in a ring.
    func answer(_ bytes: UnsafeRawBufferPointer, holdsContents: Bool = false) -> Bool {
        session.stale.succeeded(call)
        return unsafe send(nil, bytes, holdsContents: holdsContents)
    }

    /// As with bytes, for a structure of the kernel.
    func answer<Wire: BitwiseCopyable>(with wire: Wire) -> Bool {
        unsafe withUnsafeBytes(of: wire) { bytes in unsafe answer(bytes) }
    }

    private func send(_ error: Errno?, _ bytes: UnsafeRawBufferPointer, holdsContents: Bool) -> Bool {
        // The slot may be used again at once, and the session may end after `answered`.
        let isTaken =
            switch way {
            case .device(let device):
                unsafe device.takeUnretainedValue().send(unique: unique, error, bytes)
            case .ring(let slot):
                unsafe slot.takeUnretainedValue().answer(error, bytes, holdsContents: holdsContents)
            }
        session.answered(unique)
        return isTaken
    }
}
