import CrashSimulator
import Crypto
import Keybag
import Posix
import Store
import TestSecrets
import TestStores
import Testing

extension CrashTests {
    /// The passcode is changed: at each moment the vault opens, with the old passcode or the new one.
    @Suite struct Passcodes {
        private func passcode(_ number: Int) throws -> Secret {
            try secret("passcode \(number)")
        }

        @Test(arguments: SimulatedDisk.Order.allCases) func change(order: SimulatedDisk.Order) throws {
            let folder = try StateFolder()
            let keys = try VaultKeys(in: folder)
            let store = try RecordingStore(DirectoryStore(path: Path(folder.path)))
            let keybag = try keys.keybag(in: store)
            // The generation of the durable keybag, by number of records.
            var generations = [(records: 0, generation: keybag.file.generation)]
            for number in 1...6 {
                let begin = store.recorder.count
                let old = number == 1 ? try VaultKeys.passcode() : try passcode(number - 1)
                try keybag.changePasscode(from: old, to: try passcode(number))
                #expect(keybag.file.generation == generations.last!.generation + 1)
                #expect(store.recorder.count > begin)
                generations.append((store.recorder.count, keybag.file.generation))
            }
            var tried = 0
            let first = generations[0].generation
            let report = try Simulation("passwd", order, budget: budget(420)).run(
                store.recorder.records, found: store.recorder.foundCount
            ) { state, crash in
                let last = generations.last { $0.records <= crash }!.generation
                do {
                    let found = try keys.keybag(in: DirectoryStore(path: Path(state.path)))
                    let generation = found.file.generation
                    guard last...last + 1 ~= generation else {
                        return [Violation(.names, "keybag \(generation), not \(last) or the next")]
                    }
                    // Deriving a key from the passcode costs more than all other steps, so only some states try it.
                    tried += 1
                    guard tried % 50 == 0 else { return [] }
                    let number = Int(generation - first)
                    _ = try found.unlock(passcode: number == 0 ? try VaultKeys.passcode() : try passcode(number))
                    return []
                } catch { return [Violation(.closed, "\(error)")] }
            }
            expectNone(report, "passwd", order)
        }
    }
}
