import Glibc
import Posix

/// The USB devices that are plugged in: their vendor and product IDs, by their paths below /sys.
struct USBDevices {
    private var products: [String: String] = [:]

    /// Looks at all devices, and returns the IDs of known ones that are gone.
    @discardableResult
    mutating func scan(_ folder: String = "/sys/bus/usb/devices") -> Set<String> {
        let before = products
        products = [:]
        // The names of interfaces have a colon.
        let names = (try? Descriptor.open(path: folder, O_RDONLY | O_DIRECTORY).entries()) ?? []
        for name in names where !name.name.bytes.contains(UInt8(ascii: ":")) {
            guard let path = try? Path("\(folder)/\(name.name)").resolved(),
                let vendor = Self.number(in: path, "idVendor"), let product = Self.number(in: path, "idProduct")
            else { continue }
            add(String(decoding: path.bytes.dropFirst("/sys".utf8.count), as: UTF8.self), "\(vendor):\(product)")
        }
        return Set(before.filter { products[$0.key] != $0.value }.values)
    }

    mutating func add(_ path: String, _ product: String) { products[path] = product }

    mutating func remove(_ path: String) { products[path] = nil }

    /// Four hexadecimal digits and a newline.
    private static func number(in device: Path, _ file: String) -> String? {
        guard let bytes = try? Descriptor.open(path: device + "/" + Path(file), O_RDONLY).bytes(atMost: 16) else {
            return nil
        }
        let digits = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        return digits.utf8.count == 4 && UInt16(digits, radix: 16) != nil ? digits.lowercased() : nil
    }
}
