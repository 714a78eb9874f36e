import Foundation
import SoftKey
import TestSupport
import Testing

extension MountTests {
    /// What the memory of a process holds after it has used a security key: a mount in the foreground, which lives on.
    @Suite(.enabled(if: geteuid() == 0, "memory can be looked through by root only")) struct SecurityKeyMemory {
        private static let pin = "a PIN of some length"

        @Test func nothingIsLeft() throws {
            let vault = try Vault()
            let key = try SoftKey(pin: Self.pin)
            let options = [
                "--fido2-device", key.device, "--fido2-pin-file", try vault.folder.write(Self.pin, to: "pin"),
            ]
            try vault.latchkey(
                ["slot", "add", "--passcode-file", vault.passcodeFile] + options + ["fido2", vault.path]
            ).succeeded()
            let mount = try MountedVault(vault, unlocked: false, options: ["--fido2"] + options)
            #expect(try mount.status().state == "unlocked")
            let outcome = try run(
                "python3",
                [
                    "-c", Self.script, Built.project + "/tools/read-vault.py", vault.path, vault.deviceKeyFile(),
                    key.stateFile, "\(mount.daemon.pid)", Self.pin,
                ]
            ).succeeded()
            // This secret must be found: it shows that the search works.
            #expect(outcome.text == "device key\n")
        }

        private static let script = """
            import hashlib, hmac, importlib.util, json, sys
            reader_path, vault, device_file, state, pid, pin = sys.argv[1:]
            sys.dont_write_bytecode = True
            spec = importlib.util.spec_from_file_location("read_vault", reader_path)
            reader = importlib.util.module_from_spec(spec)
            sys.modules["read_vault"] = reader
            spec.loader.exec_module(reader)

            def tag(key, *parts):
                return hmac.new(key, b"".join(parts), hashlib.sha256).digest()

            slot = reader.parse_keybag(open(vault + "/lk.keybag", "rb").read()).security_key_slots[0]
            volume, device_key = reader.parse_device_key(open(device_file, "rb").read())
            master = bytes.fromhex(json.load(open(state))["master"])
            secret = tag(tag(master, b"verified", slot.credential), slot.salt)
            slot_key = reader.security_key_slot_key(secret, slot, device_key, volume)
            assert reader.unwrap(slot_key, slot.wrapped) is not None
            wanted = {
                "device key": device_key, "derived secret": secret, "its second half": secret[16:],
                "its text": secret.hex()[:40].encode(), "PIN": pin.encode(), "slot key": slot_key,
                "hash of the PIN": hashlib.sha256(pin.encode()).digest()[:16],
            }
            found = set()
            with open(f"/proc/{pid}/mem", "rb", 0) as memory:
                for line in open(f"/proc/{pid}/maps"):
                    words = line.split()
                    start, end = (int(word, 16) for word in words[0].split("-"))
                    if "r" not in words[1] or words[-1].startswith("[v"):
                        continue
                    try:
                        memory.seek(start)
                        contents = memory.read(end - start)
                    except OSError:
                        continue
                    found |= {name for name, raw in wanted.items() if raw in contents}
            print(*sorted(found), sep="\\n")
            """
    }
}
