import Control
import Format
import Foundation
import Glibc
import Posix
import TestSupport
import Testing

@testable import DeviceKeys
@testable import latchkey

@Suite struct ReportTests {
    private var status: Control.Status {
        Control.Status(
            state: .locking, graceRemaining: 6.2, deadline: 1000, evictionPhase: .invalidating,
            inodesToInvalidate: 1200, lastLockDuration: 0.0126, classKeys: ProtectionClass.allCases.map(\.name),
            openFiles: ["complete": 2, "none": 0], fileKeysInMemory: 3, mountPoint: "/mnt/x", vault: "/vault",
            volume: "00ff", device: 42, deviceKey: "software", grace: 10, readOnly: false, version: "0.1.0",
            formatVersion: 1, pid: 77, instance: "0a", sequence: 4, changed: 900,
            deviceKeyFile: "/k\n", unlockedMemory: 0)
    }

    private var holders: Holders {
        Holders(
            holders: [
                Holder(
                    pid: 5, name: "vim", openFiles: ["complete": 2, "none": 1], mappedFiles: ["complete": 1], folders: 0
                ),
                Holder(pid: 99, name: "sqlite3", openFiles: [:], mappedFiles: ["complete-unless-open": 1], folders: 0),
            ], unseenProcesses: 12)
    }

    @Test func statusIsATableForPeople() {
        #expect(
            StatusReport(status).text == """
                /mnt/x
                  state       locking: the keys will be gone in 7 s
                  vault       /vault
                  class keys  A B C D
                  open files  A: 2
                  file keys   3 in memory
                  last lock   the keys were gone 0.013 s after the deadline
                  grace       10 s
                  device key  software: a file, no secret from a thief of the whole disk,
                              who then reads names, sizes, extended attributes and class D
                  volume      00ff
                  daemon      process 77, latchkey 0.1.0, format 1
                """)
    }

    @Test func holdersAreListedWithTheNumberOfUnseenProcesses() {
        let text = StatusReport(status, holders).text.text
        #expect(
            text.contains(
                """
                  held by     5 (vim): A: 2 open, 1 mapped; D: 1 open
                              99 (sqlite3): B: 1 mapped
                              12 processes could not be looked at: \(geteuid() == 0 ? "ended meanwhile, or protected" : "only root sees all")
                """))
        let unheld = StatusReport(status, Holders(holders: [], unseenProcesses: 0)).text.text
        #expect(unheld.contains("  held by     no process\n  last lock"))
        #expect(!StatusReport(status).text.text.contains("held by"))
    }

    @Test func anEvictionTellsItsStep() {
        var status = status
        status.graceRemaining = 0
        #expect(StatusReport(status).text.text.contains("locking: cached pages are being dropped, 1,200 files left\n"))
        status.evictionPhase = nil
        #expect(StatusReport(status).text.text.contains("locking: the keys are being taken out\n"))
    }

    /// All of it but the process and the user is what a program says of itself: it must not reach the terminal.
    @Test func whoHoldsTheLockIsNamedAndEscaped() {
        var status = status
        status.evictionPhase = nil
        status.holds = [
            Hold(pid: 5, uid: geteuid(), command: "restic\u{1b}[2J", because: "a\nstate locked", seconds: 600)
        ]
        let name = #"restic\x1b[2J (process 5): a\nstate locked"#
        let text = StatusReport(status).text.text
        #expect(
            text.contains(
                "  state       locking, held by \(name)\n              the keys will be gone in at most 7 s\n"))
        #expect(!text.contains("  holds"))
        status.holds?.append(Hold(pid: 0, uid: geteuid() + 1, seconds: 1.5))
        let both = StatusReport(status).text.text
        #expect(both.contains("  state       locking, held by 2 programs, first \(name)\n"))
        let other = "a process out of sight of user \(geteuid() + 1), for at most 2 s after the grace"
        #expect(both.contains("  holds       \(name), for at most 600 s after the grace\n              \(other)\n"))
        status.state = .unlocked
        #expect(StatusReport(status).text.text.contains("  state       unlocked\n  holds       \(name), for"))
    }

    @Test func changesOfHoldsAreOneLine() throws {
        var status = status
        status.evictionPhase = nil
        let moment = try #require(Clock.moment(900))
        let time = try #require(Clock.time(1000))
        func text(_ event: StatusChange.Event) -> Printable { ChangeReport(StatusChange(event, status)).text }
        #expect(text(.didEndHold) == "\(moment)  did-end-hold")
        status.holds = [
            Hold(pid: 5, uid: geteuid(), seconds: 60), Hold(pid: 6, uid: geteuid(), command: "\r", seconds: 6),
        ]
        #expect(text(.didEndHold) == "\(moment)  did-end-hold, 2 holds left")
        #expect(text(.didBeginHold).text == "\(moment)  did-begin-hold, " + #"\r (process 6)"#)
        let held = "held by 2 programs, first process 5"
        #expect(
            text(.didBecomeHeld).text == "\(moment)  did-become-held, until \(time) at the latest, \(held)")
        #expect(
            text(.willBecomeUnavailable).text
                == "\(moment)  will-become-unavailable, at \(time) at the latest, \(held)")
    }

    @Test(
        arguments: [
            ("90", 90), ("90s", 90), ("10m", 600), ("1h", 3600), ("24h", 86_400), ("0", nil), ("25h", nil), ("1d", nil),
            ("", nil),
            ("m", nil), ("-1", nil), ("1.5h", nil), ("99999999h", nil), ("999999999", nil), ("+1", nil),
        ] as [(String, Int?)])
    func theTimeOfAHold(_ text: String, _ seconds: Int?) { #expect(HoldTime(argument: text)?.seconds == seconds) }

    @Test func aChangeIsOneLine() throws {
        let moment = try #require(Clock.moment(900))
        let time = try #require(Clock.time(1000))
        #expect(ChangeReport(StatusChange(nil, status)).text == "\(moment)  locking")
        #expect(
            ChangeReport(StatusChange(.willBecomeUnavailable, status)).text
                == "\(moment)  will-become-unavailable, at \(time)")
        #expect(
            ChangeReport(StatusChange(.didBecomeUnavailable, status)).text
                == "\(moment)  did-become-unavailable, 0.013 s after the deadline")
        #expect(ChangeReport(StatusChange(.didBecomeAvailable, status)).text == "\(moment)  did-become-available")
        #expect(try !JSON.line(StatusChange(.didBecomeAvailable, status)).text.contains("\n"))
    }

    @Test func statusWarnsOfADeviceKeyThatOthersMayUseAndOfMemoryThatIsNotLocked() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("", to: "device.key", mode: 0o644)
        var status = status
        status.deviceKeyFile = Path(file)
        status.unlockedMemory = 3 << 20
        let text = StatusReport(status, exposure: DeviceKeyExposure(of: status)).text.text
        let warning = "  warning     the file of the device key can be read by every user of this machine\n"
        #expect(text.contains(warning), "\(text)")
        #expect(text.contains("              try: chmod 600 \(file)\n"), "\(text)")
        #expect(text.contains("  memory      3.0 MiB of buffers for contents may be swapped out:\n"), "\(text)")
        try unsafe #require(chmod(file, 0o600) == 0)
        #expect(DeviceKeyExposure(of: status) == nil)
    }

    @Test(
        arguments: [
            (0o600, nil), (0o400, nil), (0o711, nil), (0o640, "read by the group 7"),
            (0o660, "read and changed by the group 7"), (0o604, "read by every user of this machine"),
            (0o644, "read by every user of this machine"),
            (0o664, "read by every user of this machine, and changed by the group 7"),
            (0o606, "read and changed by every user of this machine"),
        ] as [(UInt32, String?)])
    func theModeOfADeviceKeyNamesItsUsers(_ mode: UInt32, _ who: String?) {
        let exposure = DeviceKeyExposure("/k", owner: 5, group: 7, mode: mode, vaultOwner: nil, user: 5)
        #expect(exposure?.reason == who.map { "the file of the device key can be \($0)" })
    }

    @Test func aDeviceKeyOfAnotherUserIsTold() {
        func exposure(owner: UInt32, vaultOwner: UInt32?, user: UInt32) -> String? {
            DeviceKeyExposure("/k", owner: owner, group: 0, mode: 0o600, vaultOwner: vaultOwner, user: user)?.reason
        }
        #expect(exposure(owner: 0, vaultOwner: 5, user: 5) == nil)
        #expect(exposure(owner: 5, vaultOwner: 5, user: 0) == nil, "root mounts the vault of the key's owner")
        let other =
            "the file of the device key belongs to another user, 6, who can read and replace it"
        #expect(exposure(owner: 6, vaultOwner: 5, user: 5) == other)
        #expect(exposure(owner: 6, vaultOwner: 5, user: 0) == other)
        #expect(exposure(owner: 6, vaultOwner: nil, user: 0) == other)
    }

    /// Scripts rely on these names.
    @Test func statusHasTheFieldsThatItsHelpNames() throws {
        let json = try JSONSerialization.jsonObject(with: Data(JSON.text(StatusReport(status, holders)).text.utf8))
        let fields = try #require(json as? [String: Any])
        let help = StatusCommand.helpMessage().split { !$0.isLetter }.map(String.init)
        #expect(fields.count == 26)
        #expect(Set(fields.keys).isSubset(of: Set(help)))
    }
}

@Suite struct CiphertextTests {
    private let header = FileHeader(
        volume: VolumeIdentifier([UInt8](repeating: 1, count: 16)),
        file: FileIdentifier([UInt8](repeating: 2, count: 16)),
        protection: FileProtection(
            protectionClass: .completeUnlessOpen, isExplicit: true, wrapAlgorithm: 2,
            wrap: [UInt8](repeating: 3, count: 72)),
        binding: NameBinding([UInt8](repeating: 4, count: 16)))

    private let folder = try! TemporaryFolder()

    private func backingFile(_ bytes: [UInt8]) throws -> String {
        try Disk.write(bytes, to: folder.path("backing"))
        return folder.path("backing")
    }

    @Test func showsHeaderFieldsAndTheFirstBlock() throws {
        var bytes = [UInt8](repeating: 0, count: 512 + 4128 + 100)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        header.encode(into: &span)
        bytes[512] = 0xab
        let path = try backingFile(bytes)

        let text = try Ciphertext(of: Path(path)).text.text
        #expect(text.contains("  class               complete-unless-open (B)\n"))
        #expect(text.contains("  flags               class set on it\n"))
        #expect(text.contains("  wrap                ephemeral X25519, then AES-256 key wrap, 72 bytes\n"))
        #expect(text.contains("00000200  ab 00"))
        // The block after it is not shown.
        #expect(!text.contains("00001220"))
    }

    /// Scripts rely on these names, older than the terms of the format.
    @Test func itsFieldsKeepTheirNames() throws {
        var bytes = [UInt8](repeating: 0, count: 512)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        header.encode(into: &span)
        let text = try JSON.text(Ciphertext(of: Path(backingFile(bytes)))).text
        let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let fields = try #require(json["fields"] as? [String: String])
        #expect(
            Set(fields.keys) == [
                "volume ID", "file ID", "class", "flags", "wrap", "wrapped key", "generation", "length",
                "confirmed length", "first sparse block", "places", "MAC",
            ])
    }

    @Test func saysWhatIsNoHeader() throws {
        let path = try backingFile(Array("hello".utf8))
        let text = try Ciphertext(of: Path(path)).text.text
        #expect(text.contains("not one of a Latchkey file"))
        #expect(text.contains("68 65 6c 6c 6f"))
    }
}
