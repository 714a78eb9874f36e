import Crypto
import Format
import Foundation
import Posix
import TestSecrets
import Testing

@testable import Keybag

@Suite struct DeviceKeyTests {
    let volume = VolumeIdentifier(Random.bytes(16))

    @Test func isMadeForItsOwnerAlone() throws {
        let folder = try Folder()
        let made = try DeviceKeyFile.create(path: Path(folder.deviceKeyPath), volume: volume)
        let loaded = try DeviceKeyFile.load(path: Path(folder.deviceKeyPath))
        #expect(loaded.volume == volume)
        #expect(loaded.secret.exposed == made.secret.exposed)
        #expect(try mode(of: folder.deviceKeyPath) == 0o600)
        #expect(try mode(of: folder.path + "/state/latchkey") == 0o700)
        #expect(try folder.deviceKey.count == 64)
    }

    @Test func isNeverWrittenOver() throws {
        let folder = try Folder()
        let made = try DeviceKeyFile.create(path: Path(folder.deviceKeyPath), volume: volume)
        let before = try folder.deviceKey
        let error = failure { _ = try DeviceKeyFile.create(path: Path(folder.deviceKeyPath), volume: volume) }
        #expect(error == .io(.EEXIST, doing: "creating the device key file \(folder.deviceKeyPath)"))
        #expect(try DeviceKeyFile.load(path: Path(folder.deviceKeyPath)).secret.exposed == made.secret.exposed)
        #expect(try folder.deviceKey == before)
    }

    /// A killed program has left its new file, which the next one removes. The key itself stays, also where both names
    /// are of one file.
    @Test(arguments: [false, true]) func whatAKilledProgramLeft(isLinked: Bool) throws {
        let folder = try Folder()
        let path = folder.deviceKeyPath
        let key = try DeviceKeyFile.create(path: Path(path), volume: volume)
        let left = path.replacingOccurrences(of: "device.key", with: ".device.key.new")
        if isLinked {
            try FileManager.default.linkItem(atPath: path, toPath: left)
        } else {
            try FileManager.default.copyItem(atPath: path, toPath: left)
        }
        DeviceKeyFile.removeOrphan(of: Path(path))
        #expect(!FileManager.default.fileExists(atPath: left))
        #expect(try DeviceKeyFile.load(path: Path(path)).secret.exposed == key.secret.exposed)
        try Data([1, 2, 3]).write(to: URL(filePath: left))
        try DeviceKeyFile.replace(path: Path(path), by: key)
        #expect(!FileManager.default.fileExists(atPath: left))
        #expect(try DeviceKeyFile.load(path: Path(path)).secret.exposed == key.secret.exposed)
    }

    /// A key that did not get its name leaves nothing on the disk.
    @Test func aKeyWithoutItsNameIsOverwritten() throws {
        let folder = try Folder()
        let path = folder.deviceKeyPath
        _ = try DeviceKeyFile.create(path: Path(path), volume: volume)
        let left = path.replacingOccurrences(of: "device.key", with: ".device.key.new")
        try Data([1, 2, 3]).write(to: URL(filePath: left))
        // The file that the key is written to first, whatever becomes of its name.
        let held = try FileHandle(forReadingFrom: URL(filePath: left))
        #expect(failure { _ = try DeviceKeyFile.create(path: Path(path), volume: volume) } != nil)
        #expect(!FileManager.default.fileExists(atPath: left))
        #expect(try held.readToEnd() ?? Data() == Data())
    }

    /// A second name of the key file, or a link to it, was made on purpose and is kept.
    @Test func replacing() throws {
        let folder = try Folder()
        let path = folder.deviceKeyPath
        let key = try DeviceKeyFile.create(path: Path(path), volume: volume)
        let before = try folder.deviceKey
        try FileManager.default.linkItem(atPath: path, toPath: path + ".kept")
        try FileManager.default.createSymbolicLink(atPath: path + ".link", withDestinationPath: path)
        try DeviceKeyFile.replace(path: Path(path + ".link"), bySealed: [1, 2, 3])
        #expect(try folder.deviceKey == [1, 2, 3])
        #expect(try Array(Data(contentsOf: URL(filePath: path + ".kept"))) == before)
        try DeviceKeyFile.replace(path: Path(path), by: key)
        #expect(try folder.deviceKey == before)
    }

    @Test func whatIsNoKeyIsRefused() throws {
        let folder = try Folder()
        let path = folder.deviceKeyPath
        #expect(failure { _ = try DeviceKeyFile.load(path: Path(path)) } == .deviceKeyMissing(path: Path(path)))
        _ = try DeviceKeyFile.create(path: Path(path), volume: volume)
        let good = try folder.deviceKey
        for bad in [Array(good.prefix(63)), good + [0], [], [UInt8](repeating: 0, count: 64)] {
            try Data(bad).write(to: URL(filePath: path))
            #expect(failure { _ = try DeviceKeyFile.load(path: Path(path)) }?.isNotADeviceKey == true)
        }
        for index in 0..<16 {
            try Data(flipping(index, in: good)).write(to: URL(filePath: path))
            #expect(failure { _ = try DeviceKeyFile.load(path: Path(path)) }?.isNotADeviceKey == true, "byte \(index)")
        }
        #expect(failure { _ = try DeviceKeyFile.create(path: Path(folder.path + "/x/"), volume: volume) } != nil)
    }

    @Test func anotherKeyOpensNothing() throws {
        let vault = try Vault()
        let error = failure {
            _ = try OpenKeybag.open(in: vault.folder.store(), deviceKey: DeviceKey(generatedFor: vault.volume))
        }
        #expect(error == .deviceKeyMismatch)
    }

    @Test func defaultPlace() {
        let name = "latchkey/\(volume).key"
        #expect(
            DeviceKeyFile.defaultPath(for: volume) { ["XDG_STATE_HOME": "/s", "HOME": "/h"][$0] } == "/s/\(name)")
        #expect(DeviceKeyFile.defaultPath(for: volume) { ["HOME": "/h"][$0] } == "/h/.local/state/\(name)")
        #expect(
            DeviceKeyFile.defaultPath(for: volume) { ["XDG_STATE_HOME": "s", "HOME": "/h"][$0] }
                == "/h/.local/state/\(name)")
    }
}

@Suite struct CalibrationTests {
    /// A machine on which a pass over one MiB takes this long.
    private func cost(perMiB: Duration, memoryLimitKiB: UInt32 = 1 << 20) throws -> Argon2Cost {
        try Argon2Cost.calibrated(for: .milliseconds(500), memoryLimitKiB: memoryLimitKiB, lanes: 2) { cost in
            perMiB * Double(cost.memoryKiB / 1024) * Double(cost.passes)
        }
    }

    @Test func memoryFirst() throws {
        #expect(try cost(perMiB: .milliseconds(1)) == Argon2Cost(memoryKiB: 250 * 1024, passes: 2, lanes: 2))
    }

    @Test func thenPasses() throws {
        #expect(
            try cost(perMiB: .milliseconds(1), memoryLimitKiB: 51_200)
                == Argon2Cost(memoryKiB: 51_200, passes: 10, lanes: 2))
        #expect(try cost(perMiB: .microseconds(1)).memoryKiB == 1 << 20)
        #expect(try cost(perMiB: .nanoseconds(1)).passes == 64)
    }

    @Test func neverBelowTheFloor() throws {
        #expect(try cost(perMiB: .seconds(1)) == Argon2Cost(memoryKiB: 19_456, passes: 2, lanes: 2))
        #expect(try cost(perMiB: .milliseconds(1), memoryLimitKiB: 1024).memoryKiB == 19_456)
        #expect(Argon2Cost.minimum.isEnough)
    }

    @Test func onThisMachine() throws {
        let cost = try Argon2Cost.calibrated(for: .milliseconds(50))
        #expect(cost.isEnough)
    }
}
