public import Failure
import Glibc
import Posix
import Synchronization

/// One connection to the daemon of a mount.
///
/// Calls block; calls of several threads take turns. The caller keeps the ownership of a descriptor that it passes.
public final class ControlClient: Sendable {
    /// Held for a whole call. Lock order: docs/ARCHITECTURE.md.
    private let stream: Mutex<MessageStream>
    private let socket: Descriptor

    /// Seconds that a daemon has to answer a call that needs no work.
    private static let patience = 5.0

    /// Connects to a socket. Refuses one that is served by neither this user nor root.
    public convenience init(socket path: String) throws(Failure) {
        try self.init(socket: path, of: geteuid())
    }

    /// Connects to a socket of another user's daemon, as root may.
    convenience init(socket path: String, of owner: UInt32) throws(Failure) {
        let socket = try connect(to: path, patience: Self.patience)
        let user = try peerUser(of: socket)
        guard user == owner || user == 0 else { throw .permissionDenied }
        self.init(connected: socket)
    }

    /// Takes over a connection to a daemon; the socket is non-blocking.
    package init(connected socket: Descriptor) {
        self.socket = socket
        stream = Mutex(MessageStream(socket: socket))
    }

    /// Ends the connection, from any thread. A waiting call and all later ones throw `disconnected`.
    public func disconnect() {
        // Fails only if the daemon has closed the connection already.
        _ = shutdown(socket.number, Int32(SHUT_RDWR))
    }

    public func status() throws(Failure) -> Status {
        let reply: StatusReply = try call("Status", NoParameters(), within: Self.patience)
        return reply.status
    }

    /// Starts the grace period, or evicts the keys at once.
    ///
    /// - Parameters:
    ///   - wait: return only when the mount is not locking any more: it is locked, or unlocked again.
    ///   - deep: takes the key of class C as well; then the mount ends in `.beforeFirstUnlock`. A mount that is locked
    ///     already has no grace period: the key goes at once. An older daemon ignores it.
    ///   - seconds: how long to wait for the answer, which may wait for an eviction under way; nil for ever.
    /// - Returns: the status after that; `.beforeFirstUnlock` also if there was nothing to lock.
    /// - Throws: `timedOut` after that time: the lock goes on, and the connection is of no more use.
    public func lock(
        now: Bool = false, wait: Bool = false, deep: Bool = false, within seconds: Double? = nil
    ) throws(Failure) -> Status {
        let parameters = LockParameters(now: now, wait: wait, deep: deep ? true : nil)
        let reply: StatusReply = try call("Lock", parameters, within: seconds)
        return reply.status
    }

    /// Takes back the lock that `lock` has begun over this connection, without a credential: the keys are still in
    /// memory. Not after the deadline, and not if another lock was requested since.
    ///
    /// - Returns: the status after that; `.unlocked` if it was taken back.
    public func takeBackLock() throws(Failure) -> Status {
        let reply: StatusReply = try call("TakeBackLock", NoParameters(), within: Self.patience)
        return reply.status
    }

    /// Answers the requests that wait for an unlock (`--when-locked freeze`) with EINTR, as a signal does. As long as
    /// this connection lasts, none waits. The daemon ends a connection that asks nothing for five minutes.
    @discardableResult
    public func interruptWaiting() throws(Failure) -> Status {
        let reply: StatusReply = try call("InterruptWaiting", NoParameters(), within: Self.patience)
        return reply.status
    }

    /// Opens all classes.
    ///
    /// - Parameters:
    ///   - secret: the daemon reads the passcode, or another kind's text, from it to its end: the reading end of a pipe
    ///     whose writing end is closed, or a file.
    ///   - mayBeLast: tries a passcode also if a wrong one erases the vault's keys. The same in the other calls.
    public func unlock(
        _ kind: SecretKind = .passcode, secret: Descriptor, mayBeLast: Bool = false
    ) throws(Failure) -> Status {
        let parameters = UnlockParameters(kind: kind, secret: 0, lastGuess: mayBeLast ? true : nil)
        let reply: StatusReply = try call("Unlock", parameters, [secret])
        return reply.status
    }

    /// - Parameters:
    ///   - kind: the kind of the old one: a passcode, or no passcode.
    ///   - allowingWeak: accepts a weak new passcode.
    public func changePasscode(
        _ kind: SecretKind = .passcode, from old: Descriptor, to new: Descriptor, allowingWeak: Bool = false,
        mayBeLast: Bool = false
    ) throws(Failure) {
        let parameters = ChangePasscodeParameters(
            old: 0, new: 1, weak: allowingWeak, kind: kind, lastGuess: mayBeLast ? true : nil)
        let _: NoParameters = try call("ChangePasscode", parameters, [old, new])
    }

    /// The slots of the vault.
    public func slots() throws(Failure) -> [Slot] {
        let reply: SlotsReply = try call("Slots", NoParameters(), within: Self.patience)
        return reply.slots
    }

    /// Adds a slot to the vault, and returns its number.
    ///
    /// - Parameter secret: the secret of a credential that opens the vault now, passed as for `unlock`.
    public func addSlot(
        _ new: NewSlotSource, name: String = "", opening kind: SecretKind, secret: Descriptor, mayBeLast: Bool = false
    ) throws(Failure) -> Int {
        var parameters = AddSlotParameters(kind: kind, secret: 0, newKind: .escrowKey, name: name)
        parameters.lastGuess = mayBeLast ? true : nil
        var descriptors = [secret]
        switch new {
        case .secret(let kind, let descriptor, let allowingWeak):
            parameters.newKind = kind
            parameters.weak = allowingWeak
            parameters.new = 1
            descriptors.append(descriptor)
        case .escrow(let publicKey): parameters.publicKey = publicKey
        case .securityKey(let key, let descriptor):
            parameters.newKind = .securityKey
            parameters.securityKey = key
            parameters.new = 1
            descriptors.append(descriptor)
        }
        let reply: SlotReply = try call("AddSlot", parameters, descriptors)
        return reply.slot
    }

    public func removeSlot(
        _ slot: Int, opening kind: SecretKind, secret: Descriptor, mayBeLast: Bool = false
    ) throws(Failure) {
        let parameters = RemoveSlotParameters(
            kind: kind, secret: 0, slot: slot, lastGuess: mayBeLast ? true : nil)
        let _: NoParameters = try call("RemoveSlot", parameters, [secret])
    }

    /// The number of the slot that a secret opens. Unlocks nothing.
    public func testSlot(
        _ kind: SecretKind, secret: Descriptor, mayBeLast: Bool = false
    ) throws(Failure) -> Int {
        let parameters = UnlockParameters(kind: kind, secret: 0, lastGuess: mayBeLast ? true : nil)
        let reply: SlotReply = try call("TestSlot", parameters, [secret])
        return reply.slot
    }

    /// What protects a file.
    ///
    /// - Parameters:
    ///   - file: open in any way; O_PATH is enough, and works while the file is locked.
    ///   - name: an entry of the folder `file` that cannot be opened.
    public func explain(_ file: Descriptor, _ name: Name? = nil) throws(Failure) -> Explanation {
        let parameters = ExplainParameters(file: 0, name: name.map { Array($0.bytes) })
        let reply: ExplainReply = try call("Explain", parameters, [file], within: Self.patience)
        return reply.explanation
    }

    /// Accepts what is older than what this machine has seen.
    ///
    /// - Parameter file: open in any way; O_PATH is enough. Nil for everything in the vault.
    public func accept(_ file: Descriptor?) throws(Failure) {
        let parameters = AcceptParameters(file: file == nil ? nil : 0)
        let _: NoParameters = try call("Accept", parameters, file.map { [$0] } ?? [])
    }

    /// Unmounts. Throws `busy` if the mount is in use, except lazily: then the daemon ends after the last use.
    public func unmount(lazily: Bool = false) throws(Failure) {
        let _: NoParameters = try call("Unmount", UnmountParameters(lazy: lazily))
    }

    /// Makes the vault unreadable permanently, and ends its daemon.
    ///
    /// - Returns: what became of the device key: destroyed, missing or foreign.
    /// - Throws: `erased` if not all could be destroyed; then the daemon ends, too.
    @discardableResult public func erase() throws(Failure) -> String {
        let reply: EraseReply = try call("Erase", NoParameters())
        return reply.deviceKey
    }

    /// The same, but the device key stays.
    public func eraseKeybag() throws(Failure) {
        let _: NoParameters = try call("EraseKeybag", NoParameters())
    }

    /// Waits until the daemon has ended and the vault is free; false on a timeout.
    public func waitForEnd(seconds: Double) throws(Failure) -> Bool {
        try stream.withLock { stream throws(Failure) in
            do throws(Failure) {
                while try stream.receive(idle: .after(seconds: seconds)) != nil {}
                return true
            } catch .timedOut {
                return false
            } catch .disconnected {
                return true
            }
        }
    }

    /// Calls `body` with the present status, then with each change of state, until `body` returns false or the daemon
    /// closes the connection (`disconnected`). The connection cannot be used for other calls afterwards.
    ///
    /// - Parameter position: the last change that the caller saw over an earlier connection. The changes since then
    ///   come first, one by one. If the daemon does not know them any more, or is another one, the present status comes
    ///   first.
    public func monitor(
        after position: MonitorPosition? = nil, _ body: (StatusChange) -> Bool
    ) throws(Failure) {
        try stream.withLock { stream throws(Failure) in
            let parameters = MonitorParameters(since: position?.sequence, instance: position?.instance)
            try stream.begin("io.latchkey.Monitor", parameters, more: true)
            while true {
                let (change, continues): (StatusChange, Bool) = try stream.reply(by: .never)
                if !body(change) || !continues { return }
            }
        }
    }

    /// The long names of the classes of files, by their `st_ino`; nil for an inode that is no open file.
    public func classes(ofInodes inodes: [UInt64]) throws(Failure) -> [String?] {
        var classes: [String?] = []
        var rest = inodes[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(ClassesParameters.limit))
            let reply: ClassesReply = try call("Classes", ClassesParameters(inodes: some), within: Self.patience)
            guard reply.classes.count == some.count else { throw .malformed("an answer of another length") }
            classes += reply.classes.map { $0.isEmpty ? nil : $0 }
            rest = rest.dropFirst(some.count)
        }
        return classes
    }

    /// The daemon's product, version and interfaces; `org.varlink.service.GetInfo`.
    public func information() throws(Failure) -> ServiceInformation {
        try call("GetInfo", of: "org.varlink.service", NoParameters(), within: Self.patience)
    }

    /// Calls a method that answers more than once, and returns its first reply.
    func beginReplies<Parameters: Codable, Result: Codable>(
        _ method: String, _ parameters: Parameters
    ) throws(Failure) -> Result {
        try stream.withLock { stream throws(Failure) in
            try stream.begin("io.latchkey.\(method)", parameters, more: true)
            return try stream.reply(by: .after(seconds: Self.patience)).0
        }
    }

    /// Waits for the next reply to such a call.
    func nextReply<Result: Codable>() throws(Failure) -> Result {
        try stream.withLock { stream throws(Failure) in try stream.reply(by: .never).0 }
    }

    /// Calls a method and returns its reply. Without `within`, it waits without limit.
    func call<Parameters: Codable, Result: Codable>(
        _ method: String, of interface: String = "io.latchkey", _ parameters: Parameters,
        _ descriptors: [Descriptor] = [], within seconds: Double? = nil
    ) throws(Failure) -> Result {
        try stream.withLock { stream throws(Failure) in
            try stream.begin("\(interface).\(method)", parameters, descriptors)
            let deadline = seconds.map { Deadline.after(seconds: $0) } ?? .never
            let (result, _): (Result, Bool) = try stream.reply(by: deadline)
            return result
        }
    }
}

extension MessageStream {
    fileprivate func begin(
        _ method: String, _ parameters: some Codable, _ descriptors: [Descriptor] = [], more: Bool? = nil
    ) throws(Failure) {
        let call = Call(method: method, parameters: parameters, more: more)
        try send(Message(call, descriptors: descriptors), by: .after(seconds: 5))
    }

    fileprivate mutating func reply<Result: Codable>(by deadline: Deadline) throws(Failure) -> (Result, Bool) {
        guard let message = try receive(idle: deadline) else { throw .disconnected }
        let frame = try message.decode(ReplyFrame.self)
        if let name = frame.error {
            let parameters = try? message.decode(CallParameters<ErrorParameters>.self).parameters
            throw Failure(name: name, parameters: parameters ?? ErrorParameters())
        }
        do {
            return (try message.decode(CallParameters<Result>.self).parameters, frame.continues ?? false)
        } catch .invalidParameter(let field) {
            throw .malformed("an answer with a bad '\(field)'")
        }
    }
}
