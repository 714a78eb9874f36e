import Crypto
import Format
import Glibc
import Posix

/// This process, as a claim names it.
struct Claimant: Sendable {
    let daemon: [UInt8]
    private let machine: [UInt8]
    private let boot: [UInt8]
    private let process: ClaimRecord.Process
    private let folder: KnownInode

    /// - Parameter folder: the vault's folder.
    init(of folder: Descriptor) throws(Errno) {
        daemon = Random.bytes(16)
        boot = MachineIdentity.ofBoot ?? Random.bytes(16)
        // Without an identity, each boot counts as another machine.
        machine = MachineIdentity.permanent ?? boot
        process = ClaimRecord.Process(
            namespace: Self.namespace ?? 0, identifier: UInt64(getpid()), started: Self.state(of: "self")?.started ?? 0)
        self.folder = try KnownInode(folder)
    }

    func record(
        _ state: ClaimRecord.State, epoch: UInt64, times: ClaimTimes, renews: Bool, isShared: Bool = false
    ) -> ClaimRecord {
        let milliseconds = times.lease / .milliseconds(1)
        var record = ClaimRecord(
            state: state, renews: renews, lease: UInt32(milliseconds.rounded()), epoch: epoch,
            machine: Self.digest("machine", daemon, machine), boot: Self.digest("boot", daemon, boot), daemon: daemon,
            process: process)
        record.folder = (folder.device, folder.inode)
        record.isShared = isShared
        record.written = UInt64(max(0, Timespec.now.seconds))
        return record
    }

    /// What this process can tell of the one that has written a record.
    func relation(to record: ClaimRecord) -> ClaimRelation {
        let isSameBoot = record.boot == Self.digest("boot", record.daemon, boot)
        let process: ClaimRelation.Process =
            if isSameBoot, record.process.namespace == self.process.namespace, record.process.namespace != 0 {
                Self.isAlive(record.process) ? .alive : .ended
            } else { .unknown }
        return ClaimRelation(
            isSameMachine: record.machine == Self.digest("machine", record.daemon, machine),
            isSameFolder: isSameBoot && record.folder == (folder.device, folder.inode), isSameBoot: isSameBoot,
            process: process)
    }

    static func digest(_ label: String, _ salt: [UInt8], _ identity: [UInt8]) -> [UInt8] {
        Array(sha256(Array("latchkey claim \(label)".utf8) + salt + identity).prefix(16))
    }

    /// Source: pid_namespaces(7).
    private static var namespace: UInt64? { (try? KnownInode(path: "/proc/self/ns/pid"))?.inode }

    private static func isAlive(_ process: ClaimRecord.Process) -> Bool {
        guard let identifier = pid_t(exactly: process.identifier), identifier > 0 else { return false }
        guard kill(identifier, 0) == 0 || Errno.current == .EPERM else { return false }
        // The number may be another process's by now. If that cannot be told, it counts as the same.
        guard let state = state(of: "\(identifier)") else { return true }
        return state.started == process.started && !state.hasEnded
    }

    /// When a process has started, and whether it has ended and only waits for its parent.
    ///
    /// Source: proc_pid_stat(5), fields 3, 20 and 22; the name before may contain any character, and ends at the last
    /// parenthesis.
    private static func state(of process: String) -> (started: UInt64, hasEnded: Bool)? {
        guard let bytes = try? Descriptor.open(path: "/proc/\(process)/stat", O_RDONLY).bytes(atMost: 4096),
            let end = bytes.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = bytes[(end + 1)...].split(separator: UInt8(ascii: " "))
        guard fields.count > 19, let started = UInt64(String(decoding: fields[19], as: UTF8.self)) else { return nil }
        // Without its first thread a process is a zombie, too, as long as others run.
        let isAlone = Int(String(decoding: fields[17], as: UTF8.self)).map { $0 <= 1 } ?? false
        return (started, isAlone && ["Z", "X"].contains(String(decoding: fields[0], as: UTF8.self)))
    }
}
