import Format
import Posix
import Testing

@testable import CrashSimulator

extension CrashTests {
    /// One change is made, and every state that a crash can leave of it is tried.
    @Suite struct Short {
        struct Workload: CustomTestStringConvertible, Sendable {
            let testDescription: String
            let work: @Sendable (RecordedVault, RecordedVault.OpenFile, RecordedVault.Folder) throws -> Void
        }

        static let workloads = [
            Workload(testDescription: "a file made, and its directory synced") { vault, _, _ in
                _ = try vault.makeFile("b")
                try vault.synchronize()
            },
            Workload(testDescription: "a file made, written and synced") { vault, _, _ in
                let file = try vault.makeFile("b")
                try vault.write([1, 2], to: file, at: 0)
                try vault.synchronize(file)
            },
            Workload(testDescription: "an overwrite") { vault, file, _ in
                try vault.write([2], to: file, at: 50)
                try vault.synchronize(file)
                try vault.synchronizeAll()
            },
            Workload(testDescription: "an append") { vault, file, _ in
                try vault.append([2], to: file)
                try vault.synchronize(file)
            },
            Workload(testDescription: "an append that is not synced") { vault, file, _ in
                try vault.append([2], to: file)
                try vault.synchronize(try vault.makeFile("b"))
            },
            Workload(testDescription: "a truncate") { vault, file, _ in
                try vault.truncate(file, to: 40)
                try vault.synchronize(file)
            },
            Workload(testDescription: "a truncate that stat(2) has shown, and its data synced") { vault, file, _ in
                try vault.truncate(file, to: 0)
                _ = try file.file.status()
                try vault.synchronize(file, dataOnly: true)
            },
            // The length that stat(2) showed before must not come back once the file is checkpointed.
            Workload(testDescription: "a truncate, its data synced, and checkpointed") { vault, file, _ in
                try vault.truncate(file, to: 40)
                try vault.synchronize(file, dataOnly: true)
                try vault.vault.checkpoint()
                try vault.synchronize()
            },
            Workload(testDescription: "a class, and its data synced") { vault, file, _ in
                try vault.setClass(.complete, of: file)
                try vault.synchronize(file, dataOnly: true)
            },
            Workload(testDescription: "a class") { vault, file, _ in
                try vault.setClass(.complete, of: file)
                try vault.synchronize(file)
            },
            Workload(testDescription: "a rename") { vault, file, folder in
                try vault.rename("a", of: file, in: vault.root, to: "c", in: folder)
                try vault.synchronize(folder)
                try vault.synchronize()
            },
            Workload(testDescription: "an overwrite after a rename") { vault, file, folder in
                try vault.rename("a", of: file, in: vault.root, to: "c", in: folder)
                try vault.write([2], to: file, at: 50)
                try vault.synchronize(file, dataOnly: true)
            },
            Workload(testDescription: "an overwrite under a new link") { vault, _, folder in
                do {
                    let file = try vault.makeFile("b")
                    try vault.write([1, 2, 3], to: file, at: 0)
                    try vault.synchronizeAll()
                    try vault.link("b", of: file, in: vault.root, to: "c", in: folder)
                    try vault.synchronize(file)
                }
                let file = try vault.openFile("c", in: folder)
                try vault.write([4], to: file, at: 0)
                try vault.synchronize(file, dataOnly: true)
            },
            Workload(testDescription: "an overwrite after a rename of a file of many links") { vault, file, folder in
                for index in 0..<16 {
                    try vault.link("a", of: file, in: vault.root, to: Name(bytes: "\(index)".utf8)!, in: folder)
                }
                try vault.synchronizeAll()
                try vault.rename("a", of: file, in: vault.root, to: "c", in: folder)
                try vault.write([2], to: file, at: 50)
                try vault.synchronize(file, dataOnly: true)
            },
            Workload(testDescription: "an overwrite of a file that another has given a class") { vault, _, _ in
                do {
                    let file = try vault.makeFile("b")
                    try vault.write([1, 2, 3], to: file, at: 0)
                    try vault.synchronizeAll()
                    try vault.setClass(.complete, of: file)
                }
                let file = try vault.openFile("b")
                try vault.write([4], to: file, at: 0)
                try vault.synchronize(file, dataOnly: true)
            },
            Workload(testDescription: "an overwrite of a file that another has written to") { vault, _, _ in
                do {
                    let file = try vault.makeFile("b")
                    try vault.synchronizeAll()
                    try vault.write([1, 2, 3], to: file, at: 0)
                    try vault.vault.checkpoint()
                }
                let file = try vault.openFile("b")
                try vault.write([4], to: file, at: 0)
                try vault.synchronize(file, dataOnly: true)
            },
            Workload(testDescription: "a save") { vault, _, _ in
                let file = try vault.makeFile("b")
                try vault.write([2], to: file, at: 0)
                try vault.synchronize(file)
                try vault.rename("b", of: file, to: "a")
                try vault.synchronize()
            },
            Workload(testDescription: "a link") { vault, file, folder in
                try vault.link("a", of: file, in: vault.root, to: "c", in: folder)
                try vault.synchronize(folder)
                try vault.unlink("a", of: file.inode)
                try vault.synchronize()
            },
            Workload(testDescription: "a directory made") { vault, _, folder in
                _ = try vault.makeDirectory("d", in: folder)
                try vault.synchronize(folder)
            },
            Workload(testDescription: "a directory renamed") { vault, _, folder in
                try vault.rename("f", of: folder, to: "g")
                try vault.synchronize()
            },
            Workload(testDescription: "a directory removed") { vault, _, folder in
                try vault.removeDirectory("f", folder)
                try vault.synchronize()
            },
        ]

        @Test(arguments: workloads) func allStates(_ workload: Workload) throws {
            let vault = try RecordedVault()
            let file = try vault.makeFile("a")
            try vault.write([UInt8](repeating: 1, count: 100), to: file, at: 0)
            let folder = try vault.makeDirectory("f")
            try vault.synchronizeAll()
            let start = vault.records.count
            try workload.work(vault, file, folder)
            for order in SimulatedDisk.Order.allCases {
                var simulation = Simulation(workload.testDescription, order, budget: 1_000_000)
                simulation.statesOfACrash = 4096
                let report = try simulation.run(vault, from: start)
                #expect(report.wholeCrashes == report.crashes && report.states > report.crashes)
                expectNone(report, workload.testDescription, order)
            }
        }
    }
}
