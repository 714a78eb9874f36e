import Foundation
import SoftKey
import TestSupport
import Testing

extension MountTests {
    /// A FIDO2 security key, here one in software, as a way into a vault.
    @Suite struct SecurityKeys {
        private struct Listed: Decodable {
            let id: Int
            let kind: String
            let isPortable: Bool
        }

        private func list(_ vault: Vault, _ place: String? = nil) throws -> [Listed] {
            let outcome = try vault.latchkey(["slot", "list", "--json", place ?? vault.path]).succeeded()
            return try JSONDecoder().decode([Listed].self, from: Data(outcome.text.utf8))
        }

        private func byPasscode(_ vault: Vault) -> [String] { ["--passcode-file", vault.passcodeFile] }

        private func device(_ key: SoftKey) -> [String] { ["--fido2-device", key.device] }

        private func byKey(_ key: SoftKey) -> [String] { ["--fido2"] + device(key) }

        private func add(
            _ key: SoftKey, to vault: Vault, _ options: [String] = [], at place: String? = nil
        ) throws -> Outcome {
            try vault.latchkey(
                ["slot", "add"] + byPasscode(vault) + device(key) + options + ["fido2", place ?? vault.path])
        }

        private func keybag(_ vault: Vault) throws -> Data { try Data(contentsOf: URL(filePath: vault.keybag)) }

        /// Added, listed, used for everything that takes a passcode, and removed; in the vault, and through its mount.
        @Test(arguments: [false, true], [nil, "1234"]) func everydayLife(isMounted: Bool, pin: String?) throws {
            let vault = try Vault()
            let key = try SoftKey(pin: pin)
            let withPIN = try pin.map { ["--fido2-pin-file", try vault.folder.write($0, to: "pin")] } ?? []
            try withMount(vault) {
                try shell("echo secret > a; setfattr -n user.latchkey.class -v complete a", in: $0.path).succeeded()
            }
            let mount = isMounted ? try MountedVault(vault, unlocked: false) : nil
            let place = mount?.path ?? vault.path
            let added = try add(key, to: vault, withPIN + ["--name", "blue"], at: place).succeeded()
            #expect(added.text == "Slot 3 is added.\n" && added.errors.contains("Touch the security key"))
            #expect(key.touches == 3)
            let slots = try list(vault, place)
            #expect(slots.map(\.kind) == ["passcode", "recovery-key", "fido2"] && !slots[2].isPortable)

            let tested = try vault.latchkey(["slot", "test"] + byKey(key) + withPIN + [place]).succeeded()
            #expect(tested.text == "It opens slot 3 (fido2, blue).\n" && key.touches == 4, "touched once")
            if let mount {
                try vault.latchkey(["unlock"] + byKey(key) + withPIN + [place]).succeeded()
                #expect(try shell("cat a", in: mount.path).text == "secret\n")
                mount.detach()
            }
            let point = try vault.folder.makeFolder("point")
            try vault.latchkey(["mount"] + byKey(key) + withPIN + [vault.path, point]).succeeded()
            #expect(try shell("cat a", in: point).text == "secret\n")
            try vault.latchkey(["unmount", point]).succeeded()
            try vault.latchkey(["fsck"] + byKey(key) + withPIN + [vault.path]).succeeded()

            try vault.latchkey(["slot", "remove", "--yes"] + byKey(key) + withPIN + ["3", vault.path]).succeeded()
            let touches = key.touches
            let gone = try vault.latchkey(["slot", "test"] + byKey(key) + withPIN + [vault.path])
            #expect(gone.status == 1 && gone.errors.contains("latchkey slot add fido2"), "\(gone)")
            #expect(key.touches == touches)
        }

        /// The key that has opened the vault for new keys still opens it; the passcode must be added again.
        @Test func afterRotating() throws {
            let vault = try Vault()
            let key = try SoftKey()
            try add(key, to: vault).succeeded()
            try withMount(vault) { mount in
                try shell("echo secret > a", in: mount.path).succeeded()
                let recovery = vault.folder.path("new-recovery-key")
                try vault.latchkey(
                    ["rotate", "--yes", "--wait", "--recovery-key-file", recovery] + byKey(key) + [mount.path]
                ).succeeded()
                #expect(key.touches == 4)
            }
            #expect(try list(vault).map(\.kind) == ["fido2", "recovery-key"])
            try vault.latchkey(["slot", "test"] + byKey(key) + [vault.path]).succeeded()
            #expect(try vault.latchkey(["slot", "test"] + byPasscode(vault) + [vault.path]).status == 3)
        }

        /// Each of two keys opens it, whatever else is plugged in; a key that already opens it is not added again.
        @Test func twoKeys() throws {
            let vault = try Vault()
            let (first, second, foreign) = (try SoftKey(), try SoftKey(), try SoftKey())
            let both = device(first) + device(second)
            let which = try vault.latchkey(["slot", "add"] + byPasscode(vault) + both + ["fido2", vault.path])
            #expect(which.status == 1 && which.errors.contains("several security keys"), "\(which)")
            try add(first, to: vault).succeeded()
            let before = try keybag(vault)
            let again = try add(first, to: vault)
            #expect(again.status == 1 && again.errors.contains("opens slot 3 already"), "\(again)")
            #expect(try keybag(vault) == before)
            // The second key by the first; the prompts name which is which.
            try vault.latchkey(["slot", "add", "--fido2"] + both + ["fido2", vault.path]).succeeded()
            #expect(first.touches == 4 && second.touches == 3)
            for (key, slot) in [(first, 3), (second, 4)] {
                for options in [byKey(key), byKey(foreign) + device(key)] {
                    let tested = try vault.latchkey(["slot", "test"] + options + [vault.path]).succeeded()
                    #expect(tested.text == "It opens slot \(slot) (fido2).\n")
                }
            }
            let refused = try vault.latchkey(["slot", "test"] + byKey(foreign) + [vault.path])
            #expect(refused.status == 3 && refused.errors.contains("plug in another one"), "\(refused)")
            #expect(foreign.touches == 0)
            let mount = try MountedVault(vault, unlocked: false)
            #expect(try vault.latchkey(["unlock"] + byKey(foreign) + [mount.path]).status == 3)
            #expect(try mount.status().state == "before-first-unlock")
        }

        /// Each failure has the code that scripts rely on, a message with the next step, and leaves the keybag
        /// unchanged.
        @Test func refusals() throws {
            let vault = try Vault()
            let key = try SoftKey()
            try add(key, to: vault).succeeded()
            let before = try keybag(vault)
            let opening = ["slot", "test"] + byKey(key) + [vault.path]
            let other = try SoftKey()
            for (way, words) in [
                (SoftKey.Way.neverTouched, "was not touched in time"), (.denied, "told not to"),
                (.withoutHMACSecret, "hmac-secret"), (.alwaysPIN, ""), (.forgetful, ""),
            ] {
                try key.behave(way)
                try other.behave(way)
                let outcome = try vault.latchkey(opening)
                let isRefused = !words.isEmpty
                let code: Int32 = isRefused ? 1 : way == .forgetful ? 3 : 0
                #expect(outcome.status == code, "\(way): \(outcome)")
                #expect(!isRefused || outcome.errors.contains(words), "\(way): \(outcome)")
                guard isRefused || way == .forgetful else { continue }
                #expect(way == .forgetful || outcome.errors.contains("try: "), "\(outcome)")
                let added = try add(other, to: vault)
                #expect(added.status == 1 && added.errors.contains("try: "), "\(way): \(added)")
            }
            try key.behave(.asItShould)
            key.unplug()
            let gone = try vault.latchkey(opening)
            #expect(gone.status == 1 && gone.errors.contains("does not answer"), "\(gone)")
            for arguments in [
                ["slot", "test", "--fido2"] + byPasscode(vault), ["slot", "test"] + device(key),
                ["mount"] + device(key) + [vault.folder.path("point")],
                ["slot", "test", "--fido2", "--fido2-pin-file", "a", "--fido2-pin-fd", "3"],
            ] {
                #expect(try vault.latchkey(arguments + [vault.path]).status == 2, "\(arguments)")
            }
            #expect(try keybag(vault) == before)
        }

        @Test(.enabled(if: !FileManager.default.fileExists(atPath: "/dev/hidraw0"), "this machine may have a key"))
        func nothingIsPluggedIn() throws {
            let vault = try Vault()
            let added = try vault.latchkey(["slot", "add"] + byPasscode(vault) + ["fido2", vault.path])
            #expect(added.status == 1 && added.errors.contains("no security key is plugged in"), "\(added)")
        }

        /// A wrong PIN is reported with the number of attempts left; then the key accepts none, and the passcode still
        /// opens the vault.
        @Test func wrongPINs() throws {
            let vault = try Vault()
            let key = try SoftKey(pin: "1234")
            let none = try add(key, to: vault)
            #expect(none.status == 1 && none.errors.contains("--fido2-pin-file"), "\(none)")
            let right = ["--fido2-pin-file", try vault.folder.write("1234", to: "right")]
            let added = try add(key, to: vault, right).succeeded()
            #expect(!added.errors.contains("older than CTAP 2.1"))
            let wrong = ["--fido2-pin-file", try vault.folder.write("9999", to: "wrong")]
            let before = try keybag(vault)
            var said: [String] = []
            for number in 0..<9 {
                if number % 3 == 0 {
                    key.unplug()
                    try key.plugIn()
                }
                let outcome = try vault.latchkey(["slot", "test"] + byKey(key) + wrong + [vault.path])
                #expect(outcome.status == 3, "\(outcome)")
                said.append(outcome.errors)
            }
            #expect(!said[0].contains("Touch"), "not before the PIN is right")
            #expect(said[0].contains("takes 7 more") && said[2].contains("take the security key out"))
            #expect(said[7].contains("until it is reset") && said[8].contains("what else opens the vault"))
            #expect(try vault.latchkey(["slot", "test"] + byKey(key) + right + [vault.path]).status == 3)
            let short = ["--fido2-pin-file", try vault.folder.write("123", to: "short")]
            #expect(try vault.latchkey(["slot", "test"] + byKey(key) + short + [vault.path]).status == 1)
            #expect(try keybag(vault) == before && key.touches == 3)
            try vault.latchkey(["slot", "test"] + byPasscode(vault) + [vault.path]).succeeded()
            // A key without a PIN is not reported as one with a PIN.
            let plain = try add(SoftKey(), to: vault, right)
            #expect(plain.status == 1 && plain.errors.contains("has no PIN"), "\(plain)")
        }

        /// If a key's PIN adds little protection, the command says so.
        @Test func anOldKey() throws {
            let vault = try Vault()
            let key = try SoftKey(pin: "1234")
            try key.behave(.old)
            let right = ["--fido2-pin-file", try vault.folder.write("1234", to: "right")]
            #expect(try add(key, to: vault, right).succeeded().errors.contains("older than CTAP 2.1"))
            try vault.latchkey(["slot", "test"] + byKey(key) + right + [vault.path]).succeeded()
        }

        /// Standard input in lines: the passcode, then the PIN.
        @Test func aPINFromStandardInput() throws {
            let vault = try Vault()
            let key = try SoftKey(pin: "1234")
            let added = try vault.latchkey(
                ["slot", "add"] + device(key) + ["fido2", vault.path], input: Array("\(Vault.passcode)\n1234\n".utf8))
            try added.succeeded()
            try key.behave(.alwaysPIN)
            let touches = key.touches
            try vault.latchkey(["slot", "test"] + byKey(key) + [vault.path], input: Array("1234\n".utf8)).succeeded()
            #expect(key.touches == touches + 1)
            let by = ["slot", "test", "--fido2", vault.path]
            let environment = vault.environment.merging(["LATCHKEY_FIDO2_DEVICE": key.device]) { $1 }
            try run(Built.latchkey, by, input: Array("1234".utf8), environment: environment).succeeded()
        }

        /// Another passcode does not affect the key. On another machine the key opens nothing, for lack of the device
        /// key.
        @Test func withTheDeviceKeyOnly() throws {
            let vault = try Vault()
            let key = try SoftKey()
            try add(key, to: vault).succeeded()
            let new = try vault.folder.write("another good passcode", to: "new")
            try vault.latchkey(
                ["passwd"] + byPasscode(vault) + ["--new-passcode-file", new, vault.path]
            ).succeeded()
            try vault.latchkey(["slot", "test"] + byKey(key) + [vault.path]).succeeded()
            let point = try vault.folder.makeFolder("point")
            let moved = vault.folder.path("moved.key")
            try vault.latchkey(
                [
                    "mount", "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "--passcode-file", new,
                    "--device-key", moved, vault.path, point,
                ]
            ).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
            let opening = ["slot", "test", "--device-key", moved]
            try vault.latchkey(opening + ["--passcode-file", new, vault.path]).succeeded()
            let outcome = try vault.latchkey(opening + byKey(key) + [vault.path])
            #expect(outcome.status == 1 && outcome.errors.contains("no security key opens"), "\(outcome)")
        }

        /// The only way in is not removed.
        @Test func theLastWayIn() throws {
            let vault = try Vault()
            let key = try SoftKey()
            try add(key, to: vault).succeeded()
            for slot in ["1", "2"] {
                try vault.latchkey(["slot", "remove"] + byKey(key) + [slot, vault.path]).succeeded()
            }
            let last = try vault.latchkey(["slot", "remove"] + byKey(key) + ["3", vault.path])
            #expect(last.status == 1 && last.errors.contains("nothing else would open the vault"), "\(last)")
            try vault.latchkey(["slot", "test"] + byKey(key) + [vault.path]).succeeded()
        }

        /// Without libfido2 everything else works, and the command says what to install.
        @Test func withoutTheLibrary() throws {
            let vault = try Vault()
            let key = try SoftKey()
            let libraries = try vault.folder.makeFolder("libraries")
            _ = try vault.folder.write("no library", to: "libraries/libfido2.so.1")
            let environment = vault.environment.merging(["LD_LIBRARY_PATH": libraries]) { $1 }
            for arguments in [["--fido2-device", key.device], []] {
                let added = try attempt(
                    Built.latchkey, ["slot", "add"] + byPasscode(vault) + arguments + ["fido2", vault.path],
                    environment: environment)
                #expect(added.status == 1 && added.errors.contains("apt install libfido2-1"), "\(added)")
            }
            let tested = ["slot", "test"] + byPasscode(vault) + [vault.path]
            try run(Built.latchkey, tested, environment: environment).succeeded()
        }

        /// Killed at any of the three touches, the vault is unchanged.
        @Test(arguments: [1, 2, 3]) func killedInTheMiddle(touch: Int) throws {
            let vault = try Vault()
            let key = try SoftKey()
            let before = try keybag(vault)
            try key.behave(.waits)
            let streams = (try StreamFile(), try StreamFile())
            let child = try Child(
                Built.latchkey, ["slot", "add"] + byPasscode(vault) + device(key) + ["fido2", vault.path],
                environment: vault.environment, input: streams.0.descriptor, output: streams.1.descriptor,
                errors: streams.1.descriptor)
            let end = ContinuousClock.now + .seconds(30)
            for number in 1...touch {
                while key.touches < number, ContinuousClock.now < end { usleep(5_000) }
                #expect(key.touches == number, "\(String(decoding: streams.1.contents, as: UTF8.self))")
                if number < touch { try key.touchOnce() }
            }
            child.send(SIGKILL)
            child.wait()
            #expect(try keybag(vault) == before)
            try key.behave(.asItShould)
            try add(key, to: vault).succeeded()
        }
    }
}
