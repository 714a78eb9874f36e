/// The Varlink interfaces that a daemon serves, as GetInterfaceDescription answers them.
enum InterfaceDescription {
    static let names = ["org.varlink.service", "io.latchkey"]

    static func named(_ name: String) -> String? {
        switch name {
        case "org.varlink.service": service
        case "io.latchkey": latchkey
        default: nil
        }
    }

    /// The file io.latchkey.varlink, byte for byte (a test compares them): a static binary has no resources to load.
    static let latchkey = """
        # Control of one mounted Latchkey vault.
        #
        # A secret never stands in a message: the message carries a file descriptor (SCM_RIGHTS), and its parameter is the
        # position, from 0, of that descriptor among those sent with the message. The daemon reads it to its end. Of the kind
        # passcode it is the passcode as typed; recovery-key, its text; key-file, the text in a key file; escrow-key, an X25519
        # private key in 64 hexadecimal digits; fido2, what a security key has derived, likewise; no-passcode, anything: of a vault that has no passcode, and that the device key alone
        # opens. Where a kind may be absent it is passcode then.
        #
        # lastGuess: of a passcode. Where one more wrong passcode erases the vault's keys, it is tried only if this is true; else the call
        # fails with LastGuess, and nothing is tried or counted. It is for a person, or a program that was told to, to say so.
        interface io.latchkey

        # One mount.
        #
        # state: before-first-unlock, unlocked, locking (the grace runs, or the keys are being taken out), or locked.
        # graceRemaining: seconds until the keys go; only while locking; 0 while they are being taken out.
        # deadline: the same as a time, in seconds since 1970.
        # evictionPhase: only while the keys are being taken out: flushing (the kernel writes dirty pages of mappings back; how
        # many it has, it does not tell), invalidating (it drops its pages, inode by inode) or wiping (requests that hold a key are
        # waited for, and keys are wiped).
        # inodesToInvalidate: how many inodes are left of this pass; only while invalidating.
        # lastLockDuration: the seconds from the deadline of the last lock to the end of the keys; absent before there was one.
        # classKeys: the protection classes whose existing files can be opened now.
        # openFiles: for each class, how many files are open.
        # fileKeysInMemory: how many file keys are in memory.
        # mountPoint, vault: absolute paths. volume: the volume ID, in hexadecimal. device: st_dev of the files in the mount.
        # deviceKey: what keeps the device key: "software" is a file, "tpm2" the TPM of this machine.
        # deviceKeyFile: where that is, or what the TPM has sealed.
        # unlockedMemory: how many bytes of the buffers through which contents pass may be swapped out.
        # lockWhenIdle: the seconds without use after which it locks by itself, if it does.
        # vaultProof: what the holder of an escrow key knows the vault by (docs/KEYS.md), eight groups of four hexadecimal digits; absent
        # before anything has opened the vault.
        # guesses: how many wrong passcodes the vault takes, as of the last passcode that this daemon has tried; absent where there is no
        # limit.
        # hasPasscode: false where the device key alone opens the vault; nothing is protected then.
        # rotation: how far the files are from having the vault's new keys; absent where none has an old one.
        # ending: true once the mount is unmounted while programs still use its files; the daemon ends with the last of them.
        # grace: the seconds between a lock and the end of the keys.
        # whenLocked: fail, or freeze: open(2) and read(2) of what is locked wait for the next unlock, freezeTimeout seconds at
        # most if that is there. waitingRequests: how many wait now.
        # instance: 32 hexadecimal digits, others for each daemon. sequence: how often the state has changed so far.
        # changed: when it last did, in seconds since 1970; when the daemon started if it never has.
        type MountStatus (
          state: string,
          graceRemaining: ?float,
          deadline: ?float,
          evictionPhase: ?string,
          inodesToInvalidate: ?int,
          lastLockDuration: ?float,
          classKeys: []string,
          openFiles: [string]int,
          fileKeysInMemory: int,
          mountPoint: string,
          vault: string,
          volume: string,
          device: int,
          deviceKey: string,
          grace: float,
          readOnly: bool,
          version: string,
          formatVersion: int,
          pid: int,
          whenLocked: ?string,
          freezeTimeout: ?float,
          waitingRequests: ?int,
          instance: ?string,
          sequence: ?int,
          changed: ?float,
          hasPasscode: ?bool,
          lockWhenIdle: ?float,
          rotation: ?Rotation,
          ending: ?bool,
          deviceKeyFile: ?string,
          unlockedMemory: ?int,
          guesses: ?Guesses,
          vaultProof: ?string
        )

        # How many wrong passcodes a vault takes before its keys are erased. left: from now on; at 1 the next is the last, and at 0 none is
        # tried any more. limit: in a row.
        type Guesses (
          left: int,
          limit: int
        )

        # How far the files of a vault are from having its new keys.
        #
        # phase: waiting (for an unlock, or for the next try), renewing, or finishing (all have them: that is made durable, and then
        # the old keys go). done: how much of the tree this walk has looked at, about, from 0 to 1; there are two walks at least, of
        # which the last finds nothing to do. files: that this walk has looked at. renewed: files that were given the new keys since
        # the vault was mounted. failed: files and folders of this walk with which that could not be done. failure: why not with the
        # first, or why it has not ended.
        type Rotation (
          phase: string,
          done: float,
          files: int,
          renewed: int,
          failed: int,
          failure: ?string
        )

        # What can be done with a file in the present lock state: an action, and why not if it cannot.
        type Action (
          name: string,
          allowed: bool,
          reason: ?string
        )

        # What protects one file or directory.
        #
        # kind: file, directory, link, or other. class: absent for what has no class (links, devices).
        # isExplicit: whether the class was set on it, rather than inherited. directoryClass: what its directory gives to new files.
        # wrappedBy: the key that releases the file key, in words. hasKeyInMemory: whether the file key is at hand now.
        # backingPath: where the ciphertext lies, relative to the vault.
        type Explanation (
          kind: string,
          class: ?string,
          isExplicit: bool,
          directoryClass: ?string,
          wrappedBy: ?string,
          hasKeyInMemory: bool,
          actions: []Action,
          backingPath: string,
          state: string
        )

        # A way into the vault. id: its number. kind: as above, or unknown. created: in seconds since 1970. name: what it was
        # called, or nothing. isPortable: whether it opens the vault without this machine's device key.
        type Slot (
          id: int,
          kind: string,
          created: int,
          name: string,
          isPortable: bool
        )

        # What a FIDO2 security key needs to derive a secret again (hmac-secret, for the relying party io.latchkey). credential: what it
        # knows the credential by, and salt, both in hexadecimal. withPin, withTouch: whether it has to be told its PIN, and touched.
        type SecurityKey (
          credential: string,
          salt: string,
          withPin: bool,
          withTouch: bool
        )

        # The mount as it is now.
        method Status() -> (status: MountStatus)

        # Starts the grace, or with now takes the keys out at once. With wait the answer comes when the mount is no longer
        # locking: locked, or unlocked again. Before the first unlock there is nothing to lock, and the state stays.
        method Lock(now: ?bool, wait: ?bool) -> (status: MountStatus)

        # Opens all classes. kind, secret: see above. Fails if somebody has locked since it was asked for.
        method Unlock(kind: ?string, secret: int, lastGuess: ?bool) -> (status: MountStatus)

        # Replaces the passcode. old and new: descriptors, see above. weak: takes a weak one, too. kind: of old, passcode or, for a
        # vault that has none, no-passcode.
        method ChangePasscode(old: int, new: int, weak: ?bool, kind: ?string, lastGuess: ?bool) -> ()

        # The ways into the vault.
        method Slots() -> (slots: []Slot)

        # Adds one. kind, secret: what opens the vault now. newKind, new: what is to open it as well; of an escrow-key it is not
        # new but publicKey, in 64 hexadecimal digits; of fido2 securityKey comes with it. weak: as of ChangePasscode. slot: its
        # number.
        method AddSlot(
          kind: ?string,
          secret: int,
          newKind: string,
          new: ?int,
          publicKey: ?string,
          securityKey: ?SecurityKey,
          name: ?string,
          weak: ?bool,
          lastGuess: ?bool
        ) -> (slot: int)

        # Removes one; not the last.
        method RemoveSlot(kind: ?string, secret: int, slot: int, lastGuess: ?bool) -> ()

        # Which one a secret opens. Nothing is unlocked.
        method TestSlot(kind: ?string, secret: int, lastGuess: ?bool) -> (slot: int)

        # Makes new class keys, and gives them to the files in the background, while the mount is unlocked, until all have them. kind,
        # secret: what opens the vault now, and from then on; no recovery-key and no escrow-key. recoveryKey: a descriptor of a new
        # recovery key's text, if the vault is to have one. dropping: the numbers of all slots that go, which are all but the one that
        # secret opens and those of escrow keys; if others would go, nothing is done. Without parameters it goes on with what is not
        # finished.
        method Rotate(
          kind: ?string,
          secret: ?int,
          recoveryKey: ?int,
          dropping: ?[]int,
          lastGuess: ?bool
        ) -> (status: MountStatus)

        # What protects a file. file: a descriptor of it, opened in any way, O_PATH too.
        method Explain(file: int) -> (explanation: Explanation)

        # Unmounts. With lazy the mount is locked without grace, disappears, and ends when its last user has gone; its status has
        # ending then. The daemon closes the connection when it has ended and the vault is free.
        method Unmount(lazy: ?bool) -> ()

        # Makes the vault unreadable for good: destroys the device key and the keybag with every way in, wipes the keys in memory, and
        # ends the daemon, whoever uses the mount. What became of the device key: destroyed, missing, foreign (there is a file in its place
        # that is not this vault's, and stays). Erased, with the reason, if not all could be destroyed; then the daemon ends, too.
        method Erase() -> (deviceKey: string)

        # The classes of files, by their st_ino, in the same order; an empty string for what is no file that somebody has open.
        # At most 5000 at a time. Waits for no file.
        method Classes(inodes: []int) -> (classes: []string)

        # The mount as it is now, without an event, and then every change of its state as it happens. Must be called with more. A
        # client that does not read is dropped, and never waited for.
        #
        # event: will-become-unavailable (somebody has locked: at the deadline the keys go; again when that has moved nearer),
        # did-become-unavailable (they are gone), did-become-available (somebody has unlocked), rotation-did-begin (the vault has new
        # keys), or rotation-did-end (all files have them, and the old ones are gone).
        # since, instance: the sequence and the instance of the last status that this client has seen, over an earlier connection.
        # Every change after it comes first, in order, none missing and none twice. If there is none, or the daemon does not know
        # them all any more (it keeps 64), or is another one, the mount as it is now comes first, without an event.
        method Monitor(since: ?int, instance: ?string) -> (status: MountStatus, event: ?string)

        # The passcode, or the old one, is wrong. Nothing has changed. guesses: how many there may still be, where there is a limit.
        error WrongPasscode(guesses: ?Guesses)

        # The recovery key is wrong. Nothing has changed.
        error WrongRecoveryKey()

        # A key file, a private key or a security key opens nothing here. Nothing has changed.
        error WrongKey(kind: string)

        # There is no slot with this number.
        error NoSuchSlot(slot: int)

        # Nothing else would open the vault: the slot stays.
        error LastSlot()

        # A passcode has 1 to 1024 bytes.
        error PasscodeLength(bytes: int)

        # Too many wrong passcodes: the next is tried in so many seconds. Nothing was tried.
        error TooManyGuesses(seconds: int)

        # No passcode is tried any more: one more wrong one would erase the vault, and the last try was cut off. The other ways in
        # open it, and end this.
        error NoMoreGuesses()

        # One more wrong passcode erases the vault's keys, and the call does not say that it may (lastGuess). Nothing was tried, and nothing
        # counted. limit: of wrong passcodes in a row.
        error LastGuess(limit: int)

        # The vault's keys are destroyed, and the daemon ends. The reason is there if not all could be; limit if it was this wrong passcode
        # that was the last of so many.
        error Erased(reason: ?string, limit: ?int)

        # A new passcode that somebody who has the disk, and knows how people choose, finds within a million guesses. Nothing has changed.
        error WeakPasscode()

        # The policy of this machine's administrator forbids it; reason: how, with its file and line. Nothing has changed.
        error Forbidden(reason: string)

        # The mount is in use.
        error Busy()

        # The descriptor is of no file in this mount.
        error NotInMount()

        # The vault does not check.
        error Damaged(reason: string)

        # The vault was changed by someone without the keys.
        error Tampered(reason: string)

        # Anything else.
        error Failed(reason: string)

        """

    /// Source: varlink.org, "Service".
    static let service = """
        # The Varlink Service Interface is provided by every varlink service. It
        # describes the service and the interfaces it implements.
        interface org.varlink.service

        # Get a list of all the interfaces a service provides and information
        # about the implementation.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # Get the description of an interface that is implemented by this service.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The requested interface was not found.
        error InterfaceNotFound (interface: string)

        # The requested method was not found
        error MethodNotFound (method: string)

        # The interface defines the requested method, but the service does not
        # implement it.
        error MethodNotImplemented (method: string)

        # One of the passed parameters is invalid.
        error InvalidParameter (parameter: string)

        # Client is denied access
        error PermissionDenied ()

        # Method is expected to be called with 'more' set to true, but wasn't
        error ExpectedMore ()

        """
}
