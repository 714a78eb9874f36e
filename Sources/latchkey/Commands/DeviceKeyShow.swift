import Administration
import ArgumentParser
import Control
import DeviceKeys
import Posix

extension DeviceKeyCommand {
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show where the device key of a vault is, and whether this machine has it.",
            discussion: """
                The exit code is 1 if it is not there, or the TPM does not release it.

                --json writes an object: kind (software, tpm2), pcrs (numbers; only with tpm2), file, fileBase64 (its \
                bytes, only if they are not UTF-8; file is escaped then), volume, \
                isReleased (whether this machine has the key), reason (why not; only if it has not), isBound (false if \
                a rebind was interrupted: a passcode slot does not match the kind), warning (a sentence; only if other \
                users may use the file). Fields may be added.
                """ + Examples.of("latchkey device-key show ~/vault", "latchkey device-key show --json ~/vault"))

        @Flag(help: "Write JSON.")
        var json = false

        @Option(help: ArgumentHelp("Path of the device key.", valueName: "path"))
        var deviceKey: DeviceKeyArgument?

        @Argument(help: ArgumentHelp("The vault, or its mount.", valueName: "vault"))
        var vault: Path

        func run() throws {
            let kept = try KeptDeviceKey.of(vault, at: deviceKey?.path)
            if json { return try writeJSON(kept) }
            var table = Table()
            table.add("kept", "\(kept.kind.text)")
            table.add("file", "\(kept.path)")
            table.add("volume", "\(kept.volume)")
            if let exposure = DeviceKeyExposure(of: kept.path, inVault: kept.vault.path) {
                table.add("warning", ["\(exposure.reason)", "try: \(exposure.advice)"])
            }
            do throws(CommandError) {
                _ = try kept.loaded()
                table.add("released", "yes")
                if !kept.isBound {
                    table.add(
                        "unfinished",
                        "a passcode slot does not match this kind of key: "
                            + "latchkey device-key rebind \(kept.kind.name) \(vault.quoted)")
                }
            } catch {
                table.add("released", "no: \(error.message)")
                Standard.output(table.lines())
                throw Ended(code: error.code)
            }
            Standard.output(table.lines())
        }

        private func writeJSON(_ kept: KeptDeviceKey) throws {
            var failure: CommandError?
            do throws(CommandError) { _ = try kept.loaded() } catch { failure = error }
            Standard.output(try JSON.text(DeviceKeyFacts(kept, failure)))
            if let failure { throw Ended(code: failure.code) }
        }
    }
}

/// How a device key is kept, for scripts.
private struct DeviceKeyFacts: Encodable {
    let kind, file, volume: String
    let fileBase64: String?
    let pcrs: [Int]?
    let isReleased, isBound: Bool
    let reason, warning: String?

    init(_ kept: KeptDeviceKey, _ failure: CommandError?) {
        kind = kept.kind.name
        (file, fileBase64) = PathInJSON.pair(kept.path)
        volume = "\(kept.volume)"
        pcrs = kept.kind.registers
        isReleased = failure == nil
        isBound = kept.isBound
        reason = failure?.message.text
        warning = DeviceKeyExposure(of: kept.path, inVault: kept.vault.path)?.reason
    }
}

extension DeviceKeyKind {
    /// The PCRs to which a TPM binds the key; nil without a TPM.
    fileprivate var registers: [Int]? {
        switch self {
        case .software: nil
        case .tpm2(let pcrs): pcrs.registers
        }
    }
}
