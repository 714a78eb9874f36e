import Glibc
import LockSources
import Posix

/// The thread of the kernel's device events: a security key or a named USB device that is pulled out.
struct Devices {
    private let agent: Agent

    init(_ agent: Agent) { self.agent = agent }

    /// Never returns, unless the kernel tells this process nothing.
    func run() {
        let socket: DeviceEvents
        do throws(Errno) { socket = try DeviceEvents() } catch {
            agent.record.set("the kernel's device events cannot be read: \(error)", of: [.securityKey, .usb])
            return
        }
        var keys = SecurityKeyDevices()
        keys.scan()
        var usb = USBDevices()
        usb.scan()
        while true {
            do throws(Errno) {
                guard let event = try socket.next() else { continue }
                handle(event, &keys, &usb)
            } catch .ENOBUFS {
                // Events were lost.
                if keys.scan() { agent.take(SourceEvent(.securityKey, user: agent.user)) }
                pulledOut(usb.scan())
            } catch {
                agent.record.set("the kernel's device events end: \(error)", of: [.securityKey, .usb])
                return
            }
        }
    }

    private func handle(_ event: DeviceEvent, _ keys: inout SecurityKeyDevices, _ usb: inout USBDevices) {
        switch (event.subsystem, event.action) {
        case ("hidraw", "add"): keys.add(event.path)
        case ("hidraw", "remove"):
            if keys.remove(event.path) { agent.take(SourceEvent(.securityKey, user: agent.user)) }
        case ("usb", "add"): event.product.map { usb.add(event.path, $0) }
        case ("usb", "remove"):
            usb.remove(event.path)
            if let product = event.product { pulledOut([product]) }
        default: break
        }
    }

    private func pulledOut(_ products: Set<String>) {
        guard !products.isEmpty, !products.isDisjoint(with: agent.settings.current.usbDevices) else { return }
        agent.take(SourceEvent(.usb, user: agent.user))
    }
}

/// The FIDO2 keys that are plugged in, by the paths of their hidraw devices below /sys.
struct SecurityKeyDevices {
    private var paths: Set<String> = []

    /// Looks at all devices; true if a known key is gone.
    @discardableResult
    mutating func scan() -> Bool {
        let before = paths
        paths = []
        let folder = "/sys/class/hidraw"
        let names = (try? Descriptor.open(path: folder, O_RDONLY | O_DIRECTORY).entries()) ?? []
        for name in names {
            guard let path = try? Path("\(folder)/\(name.name)").resolved() else { continue }
            add(String(decoding: path.bytes.dropFirst("/sys".utf8.count), as: UTF8.self))
        }
        return !before.isSubset(of: paths)
    }

    mutating func add(_ path: String) {
        let file = "/sys\(path)/device/report_descriptor"
        guard let bytes = try? Descriptor.open(path: file, O_RDONLY).bytes(atMost: 4096), Self.isFIDO(bytes) else {
            return
        }
        paths.insert(path)
    }

    mutating func remove(_ path: String) -> Bool { paths.remove(path) != nil }

    /// Whether a report descriptor has the usage page of FIDO.
    ///
    /// Source: CTAP 2.1, section 11.2.8.1; HID 1.11, section 6.2.2.7: item 0x06 is a usage page of two bytes.
    static func isFIDO(_ descriptor: [UInt8]) -> Bool {
        guard descriptor.count >= 3 else { return false }
        return (0...descriptor.count - 3).contains { descriptor[$0..<$0 + 3].elementsEqual([0x06, 0xD0, 0xF1]) }
    }
}
