import Foundation
import Testing

@testable import Agent

/// The kernel's messages about devices, and FIDO2 keys by their report descriptors.
@Suite struct DeviceEventTests {
    private func event(_ parts: String...) -> DeviceEvent? {
        DeviceEvent(Array(parts.joined(separator: "\0").utf8) + [0])
    }

    @Test func aUSBDevice() throws {
        let removal = try #require(
            event(
                "remove@/devices/pci0/usb1/1-2", "ACTION=remove", "DEVPATH=/devices/pci0/usb1/1-2", "SUBSYSTEM=usb",
                "DEVTYPE=usb_device", "PRODUCT=1050/407/543", "SEQNUM=1"))
        #expect(removal.action == "remove" && removal.subsystem == "usb" && removal.product == "1050:0407")
        #expect(removal.path == "/devices/pci0/usb1/1-2")
        let interface = try #require(
            event(
                "remove@/x", "ACTION=remove", "DEVPATH=/x", "SUBSYSTEM=usb", "DEVTYPE=usb_interface",
                "PRODUCT=1050/407/543"))
        #expect(interface.product == nil)
    }

    @Test func whatIsNoEvent() {
        #expect(event("libudev") == nil && event("") == nil && DeviceEvent([]) == nil)
        #expect(event("remove@/x", "ACTION=remove", "SUBSYSTEM=usb") == nil)
        #expect(event("remove@/x", "ACTION", "DEVPATH=/x", "SUBSYSTEM=usb") == nil)
        let odd = event("a@/x", "ACTION=a", "DEVPATH=/x", "SUBSYSTEM=usb", "DEVTYPE=usb_device", "PRODUCT=zz/1/2")
        #expect(odd?.product == nil)
        #expect(DeviceEvent([0xFF, 0x40, 0, 0, 0xFE]) == nil)
    }

    @Test func aSecurityKeyIsKnownByItsUsagePage() {
        #expect(SecurityKeyDevices.isFIDO([0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01]))
        #expect(SecurityKeyDevices.isFIDO([0x05, 0x01, 0x06, 0xD0, 0xF1]))
        #expect(!SecurityKeyDevices.isFIDO([0x05, 0x01, 0x09, 0x06]) && !SecurityKeyDevices.isFIDO([0x06, 0xD0]))
        #expect(!SecurityKeyDevices.isFIDO([]))
    }

    /// After events were lost, a look at the devices that are there tells which are gone.
    @Test func usbDevicesThatAreGone() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("usb-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        func plug(_ name: String, _ vendor: String, _ product: String) throws {
            let device = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: device, withIntermediateDirectories: true)
            try Data("\(vendor)\n".utf8).write(to: device.appendingPathComponent("idVendor"))
            try Data("\(product)\n".utf8).write(to: device.appendingPathComponent("idProduct"))
        }
        try plug("1-1", "1050", "0407")
        try plug("1-2", "AB12", "0001")
        // An interface, and what is no device.
        try plug("1-2:1.0", "ffff", "ffff")
        try plug("1-3", "none", "0001")
        var devices = USBDevices()
        #expect(devices.scan(folder.path) == [])
        #expect(devices.scan(folder.path) == [])
        try FileManager.default.removeItem(at: folder.appendingPathComponent("1-1"))
        #expect(devices.scan(folder.path) == ["1050:0407"])
        try plug("1-2", "1050", "0407")
        #expect(devices.scan(folder.path) == ["ab12:0001"])
        try FileManager.default.removeItem(at: folder)
        #expect(devices.scan(folder.path) == ["1050:0407"])
        #expect(devices.scan(folder.path) == [])
    }
}
