import ArgumentParser
import Control
import DeviceKeys
import Failure
import Format
import Posix

/// `latchkey status`: the state of one mount, or of all mounts.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show lock state, keys and open files of a mount, or of all.",
        discussion: """
            With --holders, shows the processes that have files of the mount open or mapped, or a folder of it open, \
            as working folder or as root, if this user may see them; root sees all.

            With --json: an object for DIR, else a list of them. Fields: state (before-first-unlock, unlocked, \
            locking, locked), graceRemaining (seconds with all holds, only while locking), deadline (seconds since \
            1970, only while locking), evictionPhase (flushing, invalidating, wiping; only while the keys are being taken out), \
            inodesToInvalidate (only while invalidating), lastLockDuration (seconds from the last deadline until the \
            keys were gone), classKeys (names), openFiles (number by class), fileKeysInMemory, mountPoint, vault, \
            volume, device, deviceKey, deviceKeyFile, unlockedMemory (bytes of buffers for contents that may be \
            swapped out), grace (seconds), readOnly, version, formatVersion, pid, whenLocked (fail, freeze), \
            freezeTimeout (seconds, only if there is one), waitingRequests (number), instance (of the daemon), \
            sequence (changes of state so far), changed (time of the last one, seconds since 1970), hasPasscode \
            (false if the device key alone opens the vault), lockWhenIdle (seconds, only if it does), deep (true if \
            the lock under way, or the last one, takes class C's key), forgetAfter (seconds that class C's key stays \
            while locked, only if it goes), forgetTime (when it goes, seconds since 1970, only while locked), \
            rotation (phase: waiting, renewing, finishing; done: 0 to 1 of this walk; files, renewed, failed, \
            failure; only while files have old keys), guesses (left, limit: wrong passcodes before the keys are \
            erased; only of a vault made by init --erase-after), vaultProof (by which the holder of an escrow key \
            recognises the vault; only after something has opened it), logFile (the daemon's log; only where there \
            is no system log), takenOver (true once another machine has taken the vault over, so that every call \
            fails), refusals (count, lastReason, last: requests refused since the mount because something is \
            damaged; only if there were any), freshness (isStrict, older: the number of files that are older than \
            this machine has seen, found: when the first was found, files: the first of them, moment: the whole \
            vault looks as it did then, hasLostJournal, trouble: why nothing is remembered; absent with --freshness off), \
            holds (pid, uid, command, because, seconds: the programs that hold the lock; only if there are any), \
            longestHold (seconds that a program may hold it), \
            synchronised (whether several machines change the vault in turns, each in its own copy), \
            shared (whether other machines may work with it at the same time: mounted with --shared), \
            transport (io_uring or device: how the kernel's requests come), \
            transportReason (why not by io_uring: not-wanted, freezes, not-supported, switched-off, forbidden, \
            refused), program (path, device, inode: the file that the daemon runs), newerInstalled (true once \
            another file has taken its place), ending (true once it is unmounted while programs still use its \
            files); and with --holders, or while ending, holders (pid, name, openFiles, mappedFiles, folders, \
            workingFolder and root: whether one of the folders is that) and unseenProcesses (number). A path that is \
            not UTF-8 is escaped, and mountPointBase64, vaultBase64 or deviceKeyFileBase64 has its bytes. Fields may \
            be added.
            """
                + Examples.of(
                    "latchkey status", "latchkey status --holders ~/private", "latchkey status --json ~/private"))

    @Flag(help: "Show which processes have files open or mapped.")
    var holders = false

    @Flag(help: "Write JSON.")
    var json = false

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault; without it, all mounts.", valueName: "dir"))
    var argument: Path?

    func run() throws {
        if let argument {
            let report = try reports(of: [try PathArgument.mount(of: argument)])[0]
            Standard.output(json ? try JSON.text(report) : report.text)
            return
        }
        let (served, silent) = try PathArgument.all()
        let all = try reports(of: served, warns: false)
        if json {
            Standard.output(try JSON.text(all))
        } else if all.isEmpty && silent.isEmpty {
            Standard.output("No vault is mounted.\n  try: latchkey mount VAULT DIR")
        } else if !all.isEmpty {
            let warnings = DeviceKeyExposure.warnings(served.compactMap { DeviceKeyExposure(of: $0) })
            Standard.output((all.map(\.text) + warnings + [AgentText.ofThisUser]).joined(separator: "\n\n"))
        }
        var failures = Failures(advises: true)
        for mount in silent { failures.add(mount.failure) }
        try failures.end(of: 1)
    }

    /// - Parameter warns: whether each report has its warnings; otherwise they follow once for all.
    private func reports(of mounts: [ServedMount], warns: Bool = true) throws(CommandError) -> [StatusReport] {
        // If a mount is ending, the processes that still use it matter most.
        let looked = mounts.filter { holders || $0.status.ending == true }
        let scan = looked.isEmpty ? nil : try HolderScan(devices: Set(looked.map(\.status.device)))
        return try mounts.map { (mount) throws(CommandError) in
            var users: Holders?
            if let scan, holders || mount.status.ending == true { users = try Holders(of: mount, in: scan) }
            return StatusReport(mount.status, users, exposure: warns ? DeviceKeyExposure(of: mount) : nil)
        }
    }
}

/// The status of one mount for people.
struct StatusReport: Encodable {
    private let status: Control.Status
    private let holders: Holders?
    /// Which other users may use the device key.
    private let exposure: DeviceKeyExposure?

    init(_ status: Control.Status, _ holders: Holders? = nil, exposure: DeviceKeyExposure? = nil) {
        self.status = status
        self.holders = holders
        self.exposure = exposure
    }

    /// The fields of both are encoded beside each other.
    func encode(to encoder: any Encoder) throws {
        try status.encode(to: encoder)
        if isNewerInstalled {
            var fields = encoder.container(keyedBy: AddedField.self)
            try fields.encode(true, forKey: .newerInstalled)
        }
        try holders?.encode(to: encoder)
    }

    private enum AddedField: String, CodingKey { case newerInstalled }

    /// Whether the program was replaced since the mount began: the daemon goes on with the old file.
    private var isNewerInstalled: Bool { status.program?.isReplaced == true }

    var text: Printable {
        var table = Table()
        table.add("state", status.ending == true ? [ending] + state : state)
        if let holds = status.holds, !holds.isEmpty, status.state != .locking || holds.count > 1 {
            table.add("holds", holds.map { "\($0.text), for at most \(Clock.seconds($0.seconds)) after the grace" })
        }
        if status.hasPasscode == false {
            table.add(
                "protection",
                ["not protected: encrypted with the device key alone,", "until latchkey passwd sets a passcode"])
        }
        table.add("vault", "\(status.vault)\(status.readOnly ? " (read-only)" : "")")
        if let synchronised = status.synchronised {
            table.add(
                "machines",
                status.shared == true
                    ? "several, together, in this folder: mounted with --shared"
                    : synchronised
                        ? "several, in turns, each in its own copy: a synchronised vault"
                        : "one at a time, in this folder: not a synchronised vault")
        }
        table.add("class keys", "\(status.classKeys.isEmpty ? "none in memory" : letters(status.classKeys))")
        table.add("open files", "\(openFiles)")
        table.add("file keys", status.fileKeysInMemory == 0 ? "none in memory" : "\(status.fileKeysInMemory) in memory")
        if let holders { table.add("held by", holders.lines) }
        if let took = status.lastLockDuration {
            table.add("last lock", "the keys were gone \(Clock.precisely(took)) after the deadline")
        }
        if let rotation = status.rotation { table.add("new keys", "\(rotation.text)") }
        if let guesses = status.guesses { table.add("passcodes", "\(text(guesses))") }
        table.add("grace", "\(Clock.seconds(status.grace))")
        if let idle = status.lockWhenIdle { table.add("when idle", "locks after \(Clock.seconds(idle)) without use") }
        if let forgets { table.add("forgets", "\(forgets)") }
        if status.whenLocked == .freeze { table.add("when locked", "\(whenLocked)") }
        table.add("device key", deviceKey)
        if let exposure { table.add("warning", ["\(exposure.reason)", "try: \(exposure.advice)"]) }
        if let unlocked = status.unlockedMemory, unlocked > 0 {
            let size = Amount.bytes(UInt64(unlocked))
            table.add(
                "memory",
                ["\(size) of buffers for contents may be swapped out:", "the limit of locked memory is reached"])
        }
        if status.takenOver == true {
            table.add(
                "lost",
                ["another machine has taken the vault over:", "nothing can be read or written here; unmount it"])
        }
        table.add("volume", "\(status.volume)")
        if let proof = status.vaultProof { table.add("proof", "\(proof), for the holder of an escrow key") }
        if let refusals = status.refusals {
            table.add(
                "damage",
                [
                    "\(Amount.of(refusals.count, "request")) refused since the mount,",
                    "last \(Clock.date(refusals.last)): \(refusals.lastReason)",
                ])
        }
        if let freshness = status.freshness, let lines = older(freshness) { table.add("older", lines) }
        if let log = status.logFile { table.add("log", "\(log), since there is no system log") }
        if let transport { table.add("requests", transport) }
        table.add("daemon", "process \(status.pid), latchkey \(status.version), format \(status.formatVersion)")
        if isNewerInstalled {
            table.add(
                "newer",
                [
                    "a newer version is installed: the mount goes on with the one that began it",
                    "try: latchkey unmount \(status.mountPoint.quoted), then mount it again",
                ])
        }
        return "\(status.mountPoint)\n\(table.lines(indent: 2))"
    }

    private func older(_ freshness: Freshness) -> [Printable]? {
        let point = status.mountPoint.quoted
        var lines: [Printable] = []
        if let moment = freshness.moment {
            lines.append("the vault looks as it did \(Clock.date(moment)), and this machine has seen it later")
            lines.append("if you have restored it, try: latchkey accept --all \(point)")
        }
        if let trouble = freshness.trouble { lines.append("nothing is compared: \(Printable(line: trouble))") }
        if freshness.hasLostJournal {
            lines.append(
                "the journal is older than seen, or gone: what was synced last before the crash may be missing")
        }
        if freshness.older > 0 {
            let files = Amount.of(freshness.older, "file")
            lines.append("\(files) older than this machine has seen\(freshness.isStrict ? ", and refused" : "")")
            lines += freshness.files.map { "  \(Printable(line: $0))" }
            if freshness.older > freshness.files.count { lines.append("  and others") }
            if freshness.moment == nil { lines.append("if you have restored them, try: latchkey accept FILE...") }
        }
        return lines.isEmpty ? nil : lines
    }

    private var transport: [Printable]? {
        switch (status.transport, status.transportReason) {
        case (nil, _), (.device, nil): return nil
        case (.ring, _): return ["by io_uring"]
        case (.device, .notWanted): return ["by /dev/fuse, as the mount was told"]
        case (.device, .freezes): return ["by /dev/fuse, because programs wait for the unlock"]
        case (.device, .notSupported): return ["by /dev/fuse: the kernel has no FUSE over io_uring (Linux 6.14)"]
        case (.device, .switchedOff):
            return [
                "by /dev/fuse: the kernel has FUSE over io_uring switched off",
                "latchkey speed   (says how to switch it on)",
            ]
        case (.device, .forbidden):
            return [
                "by /dev/fuse: this system forbids io_uring",
                "see sysctl kernel.io_uring_disabled, or the filter of system calls",
            ]
        case (.device, .refused): return ["by /dev/fuse: the kernel has refused io_uring"]
        }
    }

    private var ending: Printable {
        "ending: \(status.mountPoint) is unmounted, and the daemon ends when no program uses its files any more"
    }

    private var state: [Printable] {
        switch status.state {
        case .beforeFirstUnlock where status.deep == true: ["locked deeply: only class D can be read"]
        case .beforeFirstUnlock: ["before the first unlock: only class D can be read"]
        case .unlocked: ["unlocked"]
        case .locking:
            if let left = status.graceRemaining, left > 0 {
                if let held = status.heldBy {
                    ["locking, \(held)", "the keys will be gone in at most \(Clock.seconds(left))"]
                } else {
                    ["locking: the keys will be gone in \(Clock.seconds(left))"]
                }
            } else {
                ["locking: \(status.evictionStep ?? "the keys are being taken out")"]
            }
        case .locked: ["locked: A and closed files of B are ciphertext"]
        }
    }

    private var forgets: String? {
        guard let seconds = status.forgetAfter else { return nil }
        let moment = status.forgetTime.map { ": at \(Clock.date($0))" } ?? ""
        return "class C after \(Clock.long(seconds)) locked\(moment)"
    }

    private func text(_ guesses: Guesses) -> String {
        guard guesses.left > 0 else { return "none is tried any more: the last attempt was interrupted" }
        return "\(guesses.left) of \(guesses.limit) attempts \(guesses.left == 1 ? "is" : "are") left "
            + "before the keys are erased"
    }

    private var whenLocked: String {
        let limit = status.freezeTimeout.map { ", \(Clock.seconds($0)) at most" } ?? ""
        let waiting = status.waitingRequests ?? 0
        return "open and read wait for the unlock\(limit): " + (waiting == 0 ? "none does now" : "\(waiting) now")
    }

    private var openFiles: String {
        let counts = ProtectionClass.allCases.compactMap { kind in
            status.openFiles[kind.name].flatMap { $0 > 0 ? "\(kind.letter): \($0)" : nil }
        }
        return counts.isEmpty ? "none" : counts.joined(separator: ", ")
    }

    private var deviceKey: [Printable] {
        if status.deviceKey == DeviceKeyKind.guardedName { return ["tpm2: sealed by this machine's TPM"] }
        guard status.deviceKey == "software" else { return ["\(status.deviceKey)"] }
        return [
            "software: a file, no secret from a thief of the whole disk,",
            "who then reads names, sizes, extended attributes and class D",
        ]
    }

    private func letters(_ names: [String]) -> String {
        names.compactMap { ProtectionClass(attributeValue: $0)?.letter }.sorted().joined(separator: " ")
    }
}

extension Control.Status {
    /// The step of an eviction; nil if none runs.
    var evictionStep: String? {
        switch evictionPhase {
        case .flushing: "mapped files are being written"
        case .invalidating: "cached pages are being dropped, \(Amount.of(inodesToInvalidate ?? 0, "file")) left"
        case .wiping: "the keys are being wiped"
        case nil: nil
        }
    }
}
