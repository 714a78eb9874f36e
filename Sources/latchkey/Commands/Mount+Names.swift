import Administration
import Control
import Glibc
import Posix
import VaultNames

extension Mount {
    /// What the user typed, or what the configuration has in its place.
    var mountPoint: Path { directory ?? "" }

    /// The command with what the configuration has for a named vault, where nothing was typed; and the mount point if
    /// it was made, which then is guarded.
    func filled() throws(CommandError) -> (Mount, made: MadeMountPoint?) {
        var filled = self
        switch try VaultWord(vault) {
        case .path:
            guard directory != nil else {
                let unknown: Printable =
                    vault.text.flatMap({ VaultName($0) }) == nil ? "" : "no vault has the name \(vault), and "
                throw CommandError(
                    .usage, "\(unknown)there is no DIR to mount it on",
                    try: "latchkey mount \(vault.quoted) DIR", "latchkey list   (shows the names)")
            }
            return (filled, nil)
        case .named(let named):
            try filled.fill(from: named)
            try filled.checkShared(of: named, isTyped: lease.shared != nil)
            if madeMountPoint, let directory { return (filled, MadeMountPoint(already: directory)) }
            guard directory == nil else { return (filled, nil) }
            let made = try MadeMountPoint(named.point)
            filled.guardMountPoint =
                guardMountPoint ?? named.guardsMountPoint
                ?? (made != nil || BareMountPoint.isClosed(named.point))
            return (filled, made)
        }
    }

    /// Executes the command again in this process, with the mount point in its arguments: by them other commands find a
    /// daemon that does not answer. Nothing secret has been read yet.
    ///
    /// Source: execv(3); `Process.daemon(ofMountAt:)`.
    func executeAgain(at point: Path, isMade: Bool, isGuarded: Bool) throws(CommandError) {
        var words = ArgumentWords.bytes.map { Path(bytes: $0) }
        guard words.dropFirst().first == "mount" else { return }
        if isGuarded, guardMountPoint == nil { words.insert("--guard-mount-point", at: 2) }
        if isMade { words.insert("--made-mount-point", at: 2) }
        words.append(point)
        var pointers = unsafe words.map { unsafe $0.withCString { unsafe strdup($0) } } + [nil]
        defer { unsafe pointers.forEach { unsafe free($0) } }
        unsafe execv("/proc/self/exe", &pointers)
        throw CommandError(cannot: "run", words[0], Errno.current)
    }

    /// What does not go with a vault that other machines mount too.
    func contradictionOfShared(_ options: MountOptions) -> String? {
        lease.contradiction(
            isReadOnly: options.isReadOnly, freezes: freeze.whenLocked == .freeze, setsClass: classDefault != nil)
    }

    /// What was typed may contradict what the configuration has.
    private func checkShared(of named: NamedVault, isTyped: Bool) throws(CommandError) {
        // What cannot be parsed is refused later.
        guard let options = try? MountOptions(parsing: options), let contradiction = contradictionOfShared(options)
        else { return }
        let other = isTyped ? "has the other one" : "has shared = true"
        throw CommandError(
            .usage, "\(contradiction), and the table of \(named.name) \(other)",
            try: "latchkey mount --no-shared \(named.name)")
    }

    private mutating func fill(from named: NamedVault) throws(CommandError) {
        vault = named.folderPath
        if unlock, !recovery, !passcode.isGiven, keyFile == nil, !securityKey, !Self.hasNoPasscode(vault) {
            passcode.passcodeCommand = named.passcodeCommand
        }
        directory = directory ?? named.point
        grace = grace ?? named.grace
        lockWhenIdle = lockWhenIdle ?? named.lockWhenIdle
        forgetAfter = forgetAfter ?? named.forgetAfter.map { ForgetTime(hours: $0) }
        if freeze.whenLocked == nil {
            freeze.whenLocked = named.whenLocked.map { $0 == .freeze ? .freeze : .fail }
            freeze.freezeTimeout = named.freezeTimeout
        }
        lease.lease = lease.lease ?? named.lease.flatMap { LeaseTime(argument: "\($0)") }
        lease.shared = lease.shared ?? named.isShared
        storeRisk.storeRisk = storeRisk.storeRisk ?? named.storeRisk
        transport.transport = transport.transport ?? named.transport
        freshness.freshness = freshness.freshness ?? named.freshness
        // Of two options that contradict each other the later one applies: the typed ones are last.
        options = named.mountOptions + options
        deviceKey = deviceKey ?? named.deviceKey.map { DeviceKeyArgument($0) }
        strength.policy.policy = strength.policy.policy ?? named.policy
    }
}

extension NamedVault {
    /// Its values for `-o`.
    var mountOptions: [String] {
        options + (isReadOnly.map { [$0 ? "ro" : "rw"] } ?? []) + (allowsOthers == true ? ["allow_other"] : [])
    }
}
