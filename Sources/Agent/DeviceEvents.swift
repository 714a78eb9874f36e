import CLinux
import Glibc
import Posix

/// What the kernel says about a device.
struct DeviceEvent: Hashable {
    let action: String
    /// Below /sys.
    let path: String
    let subsystem: String
    /// Vendor and product ID of a whole USB device, in hexadecimal: "1050:0407".
    let product: String?

    /// From the text of an event: parts that end with a zero byte, the first of them ACTION@PATH. Nil for others.
    init?(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        guard let head = parts.first, head.contains("@") else { return nil }
        var values: [Substring: Substring] = [:]
        for part in parts.dropFirst() {
            guard let sign = part.firstIndex(of: "=") else { continue }
            values[part[..<sign]] = part[part.index(after: sign)...]
        }
        guard let action = values["ACTION"], let path = values["DEVPATH"], let subsystem = values["SUBSYSTEM"] else {
            return nil
        }
        (self.action, self.path, self.subsystem) = (String(action), String(path), String(subsystem))
        let isWhole = values["DEVTYPE"] == "usb_device"
        product = isWhole ? values["PRODUCT"].flatMap { Self.product($0) } : nil
    }

    /// The kernel writes them without leading zeros: "1050/407/543".
    private static func product(_ text: Substring) -> String? {
        let numbers = text.split(separator: "/").prefix(2).compactMap { UInt16($0, radix: 16) }
        guard numbers.count == 2 else { return nil }
        return numbers.map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 4 - digits.count) + digits
        }.joined(separator: ":")
    }
}

/// The kernel's device events. No other process can send any: others than the kernel's are ignored.
///
/// Source: netlink(7), NETLINK_KOBJECT_UEVENT.
struct DeviceEvents {
    private let socket: Descriptor

    init() throws(Errno) {
        let number = lk_device_events()
        guard number >= 0 else { throw Errno.current }
        socket = Descriptor(owning: number)
    }

    /// Waits for the next message; nil if it is not the kernel's, or no event.
    ///
    /// - Throws: ENOBUFS if events were lost.
    func next() throws(Errno) -> DeviceEvent? {
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = unsafe lk_device_event(socket.number, &bytes, bytes.count)
        guard count >= 0 else {
            let error = Errno.current
            if error == .EINTR { return nil }
            throw error
        }
        return DeviceEvent(Array(bytes.prefix(count)))
    }
}
