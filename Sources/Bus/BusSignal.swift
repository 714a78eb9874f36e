/// A signal that has come over a bus.
public struct BusSignal: Sendable {
    /// The unique name of the connection that sent it, as the bus says; empty if it does not.
    public let sender: String
    public let path: String
    public let interface: String
    public let member: String
    public let body: [BusValue]

    /// A signal for tests of what signals mean.
    public init(sender: String = "", path: String, interface: String, member: String, body: [BusValue]) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.member = member
        self.body = body
    }

    fileprivate init(_ message: BusMessage, _ body: [BusValue]) {
        self.init(
            sender: message.sender, path: message.path, interface: message.interface, member: message.member,
            body: body)
    }
}

/// A signal whose body was not read yet; one thread at a time.
public struct ReceivedSignal: ~Copyable {
    private let message: BusMessage

    init(_ message: BusMessage) { self.message = message }

    /// Without its body.
    public var header: BusSignal { BusSignal(message, []) }

    /// With its body, which can be read once. One that cannot be read is empty: it is no reason to end the connection.
    public consuming func whole() -> BusSignal { BusSignal(message, (try? message.values()) ?? []) }
}
