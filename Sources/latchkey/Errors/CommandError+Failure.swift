import Administration
import Failure
import Format
import Posix

extension CommandError {
    /// Why the keybag, device key or recovery key of `vault`, which is not mounted, cannot be used.
    init(_ failure: Failure, of vault: Path) { self.init(failure, about: .vault(vault)) }

    /// What the daemon of a mount answered, or why it did not answer.
    init(_ failure: Failure, at mountPoint: Path? = nil) { self.init(failure, about: .mount(at: mountPoint)) }

    /// Why `vault` was not mounted on `mountPoint`.
    init(_ failure: Failure, mounting vault: Path, on mountPoint: Path) {
        self.init(failure, about: .mounting(vault, on: mountPoint))
    }

    /// The only place with text, advice and exit code for each failure.
    init(_ failure: Failure, about subject: FailureSubject) {
        let (name, argument, nothing) = (subject.name, subject.argument, subject.nothing)
        switch failure {
        case .wrongPasscode(let left):
            let advice: [Printable] =
                switch subject {
                case .vault:
                    ["latchkey mount --recovery \(argument) DIR   (for a forgotten one, with the recovery key)"]
                case .mount: ["latchkey unlock \(argument)", "latchkey unlock --recovery \(argument)"]
                case .mounting: ["latchkey mount --unlock \(argument) \(subject.point)"]
                case .file: []
                }
            self =
                CommandError(.wrongPasscode, Self.wrongPasscode(left, otherwise: nothing), advice: advice)
                .ofWrongPasscode
        case .wrongRecoveryKey:
            switch subject {
            case .vault: self.init(.wrongPasscode, "the recovery key is not this vault's; \(nothing)")
            case .mount:
                self.init(
                    .wrongPasscode, "the recovery key is wrong; \(nothing)",
                    try: "latchkey unlock --recovery \(argument)")
            case .mounting, .file: self.init(.wrongPasscode, "the recovery key is wrong; \(nothing)")
            }
        case .wrongKey(let kind):
            let advice: [Printable] =
                switch (subject, kind) {
                case (.mount, _), (.vault, .securityKey): ["latchkey slot list \(argument)"]
                default: []
                }
            self.init(.wrongPasscode, "the \(kind.text) opens no slot of this vault; \(nothing)", advice: advice)
        case .malformedRecoveryKey:
            self.init(
                .wrongPasscode,
                "this is no recovery key: it has 52 letters and digits, and one of them is missing or mistyped")
        case .notAKeyFile:
            self.init(.wrongPasscode, "this is no key file, or not a whole one; \(nothing)")
        case .notAPublicKey:
            self.init(.failed, "this is no public key of X25519; \(nothing)")
        case .passcodeLength(let bytes):
            let words: Printable = "a passcode has 1 to \(SecretReader.largest) bytes, this one has \(bytes)"
            if case .mount = subject { self.init(.failed, "\(words); \(nothing)") } else { self.init(.failed, words) }
        case .weakPasscode:
            self.init(
                .failed,
                "the passcode is too weak: a thief of the disk who knows how people choose finds it within a million "
                    + "guesses; nothing was changed",
                try: "five random words", "the same with --weak   (if that does not matter)")
        case .cost(let memoryKiB, let passes):
            self.init(
                .failed,
                "a passcode may cost 19 to 4096 MiB and 2 to 64 passes, not \(memoryKiB / 1024) MiB and \(passes)")

        case .tooManyGuesses(let seconds):
            self.init(
                .wrongPasscode,
                "too many wrong passcodes: the next is tried in \(Self.wait(seconds)); this one was not",
                try: "the same with --recovery   (which need not wait)")
        case .noMoreGuesses:
            self.init(
                .wrongPasscode,
                "no passcode is tried any more: a wrong one would erase the vault, and the last attempt was "
                    + "interrupted",
                try: "the same with --recovery")
        case .lastGuess(let limit):
            self.init(lastTryOf: limit)
        case .erased(let limit, let remains):
            self.init(
                .wrongPasscode,
                (limit.map { "wrong passcode. That was \(Self.last(of: $0)), so the vault's keys were erased" }
                    ?? "the keys of \(name) were erased: no passcode opens it any more")
                    + (remains.map { ", but not all could be destroyed: \($0)" } ?? ""))

        case .noSuchSlot(let slot):
            self.init(.failed, "there is no slot \(slot); nothing was changed", try: "latchkey slot list \(argument)")
        case .lastSlot:
            self.init(
                .failed, "the slot was not removed: nothing else would open the vault",
                try: "latchkey slot add KIND \(argument)")
        case .passcodesNeedTPM:
            self.init(
                .failed,
                subject.whole(
                    "the passcode has a part in a TPM, and this device key is a file: it opens nothing here. Open the "
                        + "vault with latchkey mount --recovery, or where the TPM is"))
        case .onePasscodeOnly:
            self.init(
                .failed,
                "the TPM would count each try of one passcode as a wrong one of the other: a vault with its device key "
                    + "in a TPM has only one. latchkey passwd changes it; several key files and "
                    + "recovery keys are allowed")
        case .hasNoPasscode:
            self.init(
                .failed,
                "the vault has no passcode, and the device key alone would still open it beside the new slot. latchkey "
                    + "passwd sets a passcode")

        case .notAVault:
            self.init(.notFound, "\(name) is not a vault", try: "latchkey init \(argument)")
        case .alreadyAVault:
            self.init(.failed, "\(name) is a vault already", try: "latchkey mount \(argument) DIR")
        case .foreignVersion(let version):
            self.init(
                .failed, "\(name) has format version \(version), which this latchkey does not know",
                try: "latchkey --version")
        case .foreignFeature:
            self.init(
                .failed, "\(name) uses a feature that this latchkey does not know", try: "latchkey --version")
        case .unsupported(let reason):
            self.init(
                .failed, "\(name) needs another version of latchkey than this one: \(reason)",
                try: "latchkey --version")
        case .damaged(let reason):
            self.init(.damaged, "\(subject.theVault) is damaged: \(reason)")
        case .tampered(let reason):
            self.init(.damaged, "\(subject.theVault) was changed without its keys: \(reason)")
        case .olderKeybag(nil, _):
            self.init(
                .damaged,
                "this machine's TPM has counted a newer keybag than that of \(name), and this machine does not have it any "
                    + "more; \(nothing)",
                try: "latchkey mount --recovery \(argument) DIR   (with the recovery key)",
                "latchkey keybag restore FILE \(argument)   (with a backup of the keybag)")
        case .olderKeybag(let seen, let isConflict):
            let then: Printable = seen.map { ", which this machine first saw on \(Clock.date(Double($0)))" } ?? ""
            self.init(
                .damaged,
                isConflict
                    ? "the keybag of \(name) and another one\(then), were made from the same one: two machines have "
                        + "changed it apart from each other; \(nothing)"
                    : "the keybag of \(name) is older than the newest one\(then): a passcode or key from before may "
                        + "open it; \(nothing)",
                try: "latchkey accept --keybag \(argument)   (if you have restored the vault)",
                "latchkey mount -o ro \(argument) DIR   (to read a backup beside the vault)")
        case .outdatedCredential(let kind):
            self.init(
                .wrongPasscode,
                "the keybag is older than one that this machine has seen, which has other keys or is not here any more: the "
                    + "\(kind.text) was not tried; \(nothing)",
                try: "latchkey unlock --recovery DIR   (with the recovery key from that time)")
        case .beforeRotation:
            self.init(
                .failed,
                "the newest keybag that this machine has seen does not open the files of \(name): they are from before a "
                    + "rotation; \(nothing)",
                try: "latchkey mount --recovery \(argument) DIR   (with the recovery key from that time)")
        case .notOlder:
            self.init(
                .failed,
                "the keybag of \(name) is as new as any that this machine has seen: there is nothing to accept")
        case .changedMeanwhile:
            self.init(.failed, "the keybag was changed meanwhile; nothing of this was done", try: "the same again")
        case .otherProof:
            self.init(otherProofThan: subject.folder)

        case .notABackup:
            self.init(.failed, "this is no backup of a keybag")
        case .damagedBackup:
            self.init(.damaged, "the backup is damaged, or was changed without its passphrase")
        case .wrongPassphrase:
            self.init(.wrongPasscode, "the passphrase is not this backup's; nothing was changed")
        case .otherRoot:
            self.init(
                .failed,
                "the backup's keys do not open the root of \(name): it is another vault's, or the root is damaged")
        case .otherKeys:
            self.init(
                .failed,
                "the keybag in \(name) has other keys than the backup: it is another vault's, or the backup is from "
                    + "before latchkey rotate, and opens no file that has the new keys; nothing was changed",
                try: "mv \((subject.folder.asFolder + BackingName.keybag).quoted) ELSEWHERE   "
                    + "(if it is certain that it is of no use)")

        case .deviceKeyMissing(let path):
            self.init(.failed, "the device key of \(name) is not at \(path)", advice: subject.waysWithoutDeviceKey())
        case .notADeviceKey(let path):
            self.init(
                .failed, "\(path) is not a device key file, or not a whole one",
                advice: subject.waysWithoutDeviceKey(isInTheWay: true))
        case .recoveredElsewhere(let created):
            self.init(
                .failed,
                "this machine's device key does not open \(name) any more: the vault was recovered on another machine, "
                    + "by \(Clock.date(Double(created))) as its keybag says, or the keybag is damaged",
                advice: subject.waysWithoutDeviceKey())
        case .deviceKeyMismatch:
            self.init(
                .failed, "the device key belongs to another vault than \(name), or the vault's keybag is damaged",
                try: subject.wayWithDeviceKey)
        case .otherPCRs:
            self.init(
                .failed,
                subject.whole(
                    "the TPM does not release the device key: this machine was started in another way than "
                        + "when it was sealed. Start it as it was, or open the vault with latchkey mount --recovery"))
        case .otherTPM:
            self.init(
                .failed,
                subject.whole(
                    "the device key was sealed by another machine's TPM, or this one was cleared since: open the "
                        + "vault with latchkey mount --recovery"))

        case .vaultInUse:
            if case .vault = subject {
                self.init(
                    .failed, "\(subject.theVault) is mounted already, or another latchkey is at work in it",
                    try: "latchkey status")
            } else {
                self.init(.failed, "\(subject.theVault) is mounted already", try: "latchkey status \(argument)")
            }
        case .claimed(let host, let renewed):
            let machine: Printable = host.map { "the machine \(Printable($0))" } ?? "another machine"
            let last: Printable =
                renewed.map { ", which last said so at \(Timespec(seconds: Int64(clamping: $0), nanoseconds: 0).date)" }
                ?? ""
            self.init(
                .failed, "\(subject.theVault) is in use on \(machine)\(last)",
                try: "latchkey unmount   (there)",
                "latchkey mount --take-over \(argument) \(subject.point)   (if that machine uses it no more)")
        case .claimGivenUp:
            self.init(.failed, "the wait for another machine was ended")
        case .alreadyServed:
            self.init(
                .failed,
                "a vault with the same volume ID, such as a copy of \(name), is mounted already, and only one of them can "
                    + "be written to",
                try: "latchkey mount -o ro \(argument) \(subject.point)", "latchkey status")
        case .mountPoint(let reason):
            self.init(
                .failed, "cannot mount on \(subject.mountPoint): \(reason)",
                advice: MachineAdvice.forMount(refused: reason.text))
        case .writtenBeneath(let point):
            self.init(
                .failed,
                "while \(subject.mountPoint) was being mounted, a program wrote files into the folder itself: they lie "
                    + "there, not encrypted, and nothing is mounted",
                try: "ls -A \(point.quoted)   (after chmod 700, if the folder is closed; move them away)",
                "the same again")
        case .mountLeftBehind(let failure, let point):
            let error = CommandError(failure, about: subject)
            self.init(
                error.code,
                "\(error.message); its mount is left behind, and fusermount3 -u -z \(point.quoted) removes it",
                advice: error.advice)
        case .rootLocked:
            self.init(.failed, subject.whole("its root cannot be read without a passcode"))
        case .rootClassDiffers(let present, let wanted):
            self.init(
                .failed,
                subject.whole(
                    "its root folder has the class \(present), and a read-only mount cannot give it \(wanted)"),
                try: "latchkey mount -o ro \(argument) \(subject.point)",
                "latchkey mount --class-default \(wanted) \(argument) \(subject.point)   (writable)")
        case .endedBeforeReady:
            self.init(.failed, subject.whole("the daemon ended before the mount was ready"))
        case .forbidden(let reason):
            self.init(.failed, "\(reason)", try: "latchkey policy check \(argument)")
        case .busy:
            self.init(
                .failed, "\(subject.mountPoint) is in use", try: "latchkey status --holders \(subject.point)",
                "latchkey unmount --lazy \(subject.point)")
        case .notInMount:
            self.init(.notFound, "not a file in a Latchkey mount", try: "latchkey status")
        case .classLocked:
            if case .file(let path, _) = subject {
                self.init(
                    .locked, "cannot set the class of \(path): the key that it needs is locked away",
                    try: "latchkey unlock \(argument)")
            } else {
                self.init(.failed, "its class is locked")
            }
        case .classRefused(let isOwner):
            self.init(
                .failed,
                "cannot set the class of \(subject.file): "
                    + (isOwner ? "the policy that the mount was given forbids it" : "only its owner can"))
        case .mountLocked:
            self.init(.locked, subject.whole("its keys are gone, so nothing can hold them"), try: "latchkey status")
        case .readOnly:
            self.init(.failed, "the vault is mounted read-only")
        case .secretNotInTime:
            self.init(.failed, subject.whole("the passcode did not come in time"))
        case .lockedMeanwhile:
            self.init(.failed, subject.whole("it was locked meanwhile: unlock again"))
        case .newKeysMeanwhile:
            self.init(.failed, subject.whole("the vault has got new keys meanwhile: unlock again"))
        case .rotationUnderWay:
            self.init(.failed, "some files still have the old keys: no new rotation was started")

        case .noSuchVault(let path):
            self.init(.notFound, "there is no vault \(path)", try: "latchkey init \(path.quoted)")
        case .noKeybag(let path):
            self.init(.notFound, "\(path) is not a vault: it has no keybag", try: "latchkey init \(path.quoted)")
        case .lostKeybag(let path, let erased):
            self.init(
                .notFound,
                erased.map { time -> Printable in
                    "the vault \(path) was erased on \(Clock.date(Double(time))): only a backup of its keybag opens it"
                }
                    ?? "the vault \(path) has no keybag any more: \(BackingName.keybag) was lost, or the vault was erased",
                try: "latchkey keybag restore FILE \(path.quoted)   (FILE: made by latchkey keybag backup)",
                "cp BACKUP/\(BackingName.keybag) \(path.quoted)   (BACKUP: a copy of the vault's folder)")
        case .liesInMount(let path, let mountPoint):
            self.init(.failed, "\(path) lies in the mount of another vault, \(mountPoint)")
        case .notAFolder(let path):
            self.init(.failed, "\(path) is not a folder")
        case .notEmpty(let path):
            self.init(
                .failed, "\(path) is not empty: a vault begins in a folder of its own",
                try: "latchkey init \((path.trimmingTrailingSlashes + "/vault").quoted)")
        case .rootFolder(let path):
            self.init(.failed, "\(path) is the root folder")
        case .notInAMount(let path):
            self.init(
                .notFound, "\(path) is not in a Latchkey mount", try: "latchkey status", "latchkey mount VAULT DIR")
        case .neitherFileNorFolder(let path):
            self.init(.failed, "\(path) is neither a file nor a folder: it has no class")
        case .severalLinks:
            self.init(
                .failed,
                "\(subject.file) has its new class but keeps its key: it has several hard links, which a copy would "
                    + "separate"
            )
        case .changedDuringCopy:
            let advice: [Printable] =
                if case .file(_, let protectionClass) = subject {
                    ["latchkey class set --rekey \(protectionClass.letter) \(argument)"]
                } else { [] }
            self.init(
                .failed, "\(subject.file) has its new class but keeps its key: a program changed it meanwhile",
                advice: advice)
        case .interrupted:
            self.init(.failed, "\(subject.file) has its new class but keeps its key: interrupted")
        case .secretFileExists(let path):
            self.init(.failed, "\(path) exists already, and may hold the key of another vault")
        case .deviceKeyExists(let path):
            self.init(
                .failed, "\(path) exists already, and may be the device key of another vault",
                try: "latchkey init --device-key PATH \(argument)")
        case .secretInVault(let path):
            self.init(.failed, "\(path) lies in the vault: every copy of the vault would contain it")
        case .caseInsensitive:
            self.init(
                .failed,
                "\(name) lies on a file system that does not distinguish a from A: encrypted names would collide there")
        case .namesTooShort(let bytes, let least):
            self.init(
                .failed,
                "\(name) lies on a file system with names of at most \(bytes) bytes; a vault needs \(least)")
        case .riskyStore(let store, let reason, isFinal: true):
            self.init(
                .riskyStore, "\(name) lies on \(Printable(store)), where no vault can live: \(Printable(line: reason))",
                try: "latchkey doctor \(argument)")
        case .riskyStore(let store, let reason, isFinal: false):
            let accepting: Printable =
                if case .mounting = subject {
                    "latchkey mount --store-risk accept \(argument) \(subject.point)   (all the same)"
                } else { "the same with --store-risk accept   (all the same)" }
            self.init(
                .riskyStore,
                "\(name) lies on \(Printable(store)), where a vault loses data: \(Printable(line: reason))",
                try: "latchkey doctor \(argument)", accepting)
        case .labelTooLong:
            self.init(.usage, "a name has at most 255 bytes")

        case .file(let errno, let doing, let path):
            self.init(cannot: doing, path, errno)
        case .io(let errno, let doing):
            if case .file(let path, _) = subject { self.init(cannot: doing, Path(bytes: path), errno); return }
            self.init(.failed, subject.whole("\(doing): \(errno)"), advice: subject.advice(about: errno))
        case .noThread(let errno):
            self.init(
                .failed,
                subject.whole("cannot make a thread: \(errno) (ulimit -u, or pids.max of the control group)"))
        case .cryptography(let reason):
            self.init(.failed, subject.whole("\(reason)"))
        case .hardware(let reason):
            var advice = MachineAdvice.forTPM(reason)
            if case .mounting = subject { advice.append(subject.waysWithoutDeviceKey()[1]) }
            self.init(.failed, subject.whole("\(reason)"), advice: advice)
        case .failed(let reason):
            // The reason comes from a daemon.
            self.init(.failed, subject.whole(Printable(line: reason)))

        case .permissionDenied:
            self.init(
                .failed,
                "the daemon of \(subject.mountPoint) takes orders only from the user who mounted it, and from root")
        case .socket(let errno, let doing):
            if case .mounting = subject {
                self.init(.failed, subject.whole("\(doing): \(errno)"))
            } else {
                self = CommandError(.failed, "cannot \(doing): \(errno)").inDoubt
            }
        case .timedOut:
            self =
                CommandError(
                    .failed, "the daemon does not answer", try: "latchkey status",
                    "kill -USR1 PID   (locks at once)"
                ).inDoubt
        case .disconnected:
            self =
                CommandError(.notFound, "the daemon has ended before it answered", try: "latchkey status").inDoubt
        case .unsafeDirectory(let path):
            self.init(
                .failed, "the folder of the control sockets, \(path), belongs to another user or is open to others",
                try: "ls -ld \(path.quoted)")
        case .tooManyConnections:
            self.init(.failed, "too many connections")
        case .tooManyMonitors:
            self.init(.failed, "too many programs watch the mount already; latchkey status still works")
        case .tooManyHolds:
            self.init(.failed, "as many programs hold the lock, or ask for it, as may do so", try: "latchkey status")
        case .interfaceNotFound, .methodNotFound, .methodNotImplemented, .invalidParameter, .expectedMore, .unknown:
            self.init(misunderstanding: failure)
        case .malformed:
            self = CommandError(misunderstanding: failure).inDoubt
        }
    }

    private init(misunderstanding failure: Failure) {
        self.init(
            .failed, "the daemon and this command do not understand each other: \(failure)",
            try: "latchkey --version", "latchkey status")
    }

    /// As in "the next is tried in …".
    static func wait(_ seconds: Int) -> String {
        seconds < 90 ? "\(max(seconds, 0)) seconds" : "\(seconds / 60 + (seconds % 60 + 59) / 60) minutes"
    }

    /// As in "this is …".
    static func last(of attempts: Int) -> String {
        attempts == 1 ? "the only attempt" : "the last of \(attempts) attempts"
    }

    /// The text for a wrong passcode.
    ///
    /// - Parameters:
    ///   - left: how many wrong ones are still allowed, and the limit; nil without a limit.
    ///   - otherwise: the second half of the sentence if there is no limit.
    static func wrongPasscode(_ left: Guesses?, otherwise: Printable) -> Printable {
        guard let left else { return "the passcode is wrong; \(otherwise)" }
        return
            "wrong passcode; \(left.left) of \(left.limit) attempts \(left.left == 1 ? "is" : "are") left before the "
            + "vault's keys are erased"
    }
}

/// The value of an expression; a failure that needs no subject becomes words.
func inWords<R: ~Copyable>(_ expression: @autoclosure () throws(Failure) -> R) throws(CommandError) -> R {
    do { return try expression() } catch { throw CommandError(error) }
}

/// Runs `body`; its failures become words about `vault`.
func withKeybag<R: ~Copyable>(
    of vault: Path, _ body: () throws(Failure) -> R
) throws(CommandError) -> R {
    do { return try body() } catch { throw CommandError(error, of: vault) }
}
