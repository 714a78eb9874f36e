import Foundation
import TestSupport

/// Searches the daemon's memory, as root may, for keys that an independent reader derives from the vault.
///
/// A cipher's expanded AES key begins with the key itself, so the search covers it as well.
enum MemoryScan {
    /// The names of the secrets in the daemon's memory: "class key A" ... "D", "passcode", "recovery key", "device
    /// key", "file key NAME" for each of the files, and "plaintext N" for each of the plaintexts.
    static func found(in mount: MountedVault, files: [String] = [], plaintexts: [[UInt8]] = []) throws -> Set<String> {
        let vault = mount.vault
        let wanted = ["files": files, "plaintexts": plaintexts.map(\.hexadecimal)]
        let outcome = try run(
            "python3",
            [
                "-c", script, Built.project + "/tools/read-vault.py", vault.path, vault.deviceKeyFile(),
                vault.passcodeFile, vault.recoveryKeyFile, "\(mount.daemon.pid)",
                String(decoding: try JSONEncoder().encode(wanted), as: UTF8.self),
            ]
        ).succeeded()
        return Set(outcome.text.split(separator: "\n").map(String.init))
    }

    private static let script = """
        import array, importlib.util, json, os, sys
        reader_path, vault_path, device_file, passcode_file, recovery_file, pid, wanted = sys.argv[1:]
        sys.dont_write_bytecode = True
        spec = importlib.util.spec_from_file_location("read_vault", reader_path)
        reader = importlib.util.module_from_spec(spec)
        sys.modules["read_vault"] = reader
        spec.loader.exec_module(reader)

        volume, device_key = reader.parse_device_key(open(device_file, "rb").read())
        passcode = reader.read_secret_line(passcode_file)
        vault = reader.Vault(os.fsencode(vault_path), reader.Credentials(device_key, passcode), volume)
        wanted = json.loads(wanted)
        patterns = {"class key " + letter: vault.classes.key(number) for number, letter in enumerate("ABCD", 1)}
        patterns["device key"] = device_key
        patterns["passcode"] = passcode
        patterns["recovery key"] = reader.parse_recovery_key(open(recovery_file).read().strip())
        patterns["recovery key's text"] = open(recovery_file, "rb").read().strip()[:30]
        for name in wanted["files"]:
            header, protection = vault.header(vault.find(os.fsencode("/" + name)))
            patterns["file key " + name] = reader.open_file_key(
                header.file, protection, vault.keys.volume, vault.classes)
        for number, text in enumerate(wanted["plaintexts"]):
            patterns["plaintext %d" % number] = bytes.fromhex(text)

        def touched(start, end):
            # Runs of pages that are there: most of a thread's stack has never been touched.
            pages = array.array("Q", os.pread(pagemap.fileno(), (end - start) // 512, start // 512))
            first = None
            for number, page in enumerate(pages):
                if page >> 62 and first is None:
                    first = number
                elif not page >> 62 and first is not None:
                    yield start + first * 4096, (number - first) * 4096
                    first = None
            if first is not None:
                yield start + first * 4096, (len(pages) - first) * 4096

        found = set()
        process = "/proc/%s/" % pid
        with open(process + "maps") as maps, open(process + "mem", "rb", 0) as memory, \
                open(process + "pagemap", "rb", 0) as pagemap:
            for line in maps:
                addresses, permissions, rest = line.split(None, 2)
                if permissions[:2] != "rw":
                    continue
                start, end = (int(address, 16) for address in addresses.split("-"))
                for address, count in touched(start, end):
                    memory.seek(address)
                    region = memory.read(count)
                    found |= {name for name, bytes in patterns.items() if bytes in region}
        print("\\n".join(sorted(found)))
        """
}
