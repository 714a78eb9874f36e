import TestSupport
import Testing

extension MountTests {
    /// Section 2's table, cell by cell: four classes, five lock states, every call, through a real mount.
    @Suite struct ClassTable {
        @Test func hasARowForEveryCall() {
            #expect(Expectation.table.count == Call.allCases.count)
            #expect(Set(Expectation.table.map(\.call)) == Set(Call.allCases))
        }

        @Test(arguments: ProtectionClass.allCases, LockState.allCases)
        func cells(_ protection: ProtectionClass, _ state: LockState) throws {
            let vault = try Vault()
            let probe = try Probe()
            // The files take the class from a directory of their own, since the root's class is C.
            var cells: [Cell] = []
            var mount = try MountedVault(vault, grace: 3600)
            let directory = mount.file("classed")
            try probe.ask("mkdir", directory, "0755").required("mkdir")
            try probe.setClass(protection.rawValue, of: directory).required("the directory's class")
            try probe.ask("mkdir", mount.file("scratch"), "0755").required("mkdir")
            try probe.setClass("none", of: mount.file("scratch")).required("the class of the scratch folder")
            for (number, expectation) in Expectation.table.enumerated() {
                let cell = Cell(call: expectation.call, number: number, probe: probe, directory: directory)
                guard case .absent = expectation.cell(protection, state) else {
                    cells.append(cell)
                    continue
                }
            }
            for cell in cells where !cell.call.needsHandle || state != .beforeFirstUnlock {
                try cell.makeFile()
            }
            if state == .beforeFirstUnlock {
                try mount.unmount()
                mount = try MountedVault(vault, unlocked: false)
            }
            try probe.open(Cell.scratch, mount.file("scratch/file"), "rw,creat").required("opening the scratch file")
            for cell in cells where cell.call.needsHandle {
                try cell.openHandle()
            }
            switch state {
            case .beforeFirstUnlock, .unlocked: break
            case .locking: try mount.latchkey("lock", mount.path).succeeded()
            case .locked: try mount.lockNow()
            case .deeplyLocked: try mount.lockDeeply()
            }
            #expect(try mount.status().state == state.reported)

            var allowed: [Int: Bool] = [:]
            for cell in cells {
                allowed[cell.number] = try check(cell, protection, state)
            }
            #expect(try mount.status().state == state.reported, "the calls were made in this state")

            try mount.unlock()
            for cell in cells {
                try cell.verify(allowed: allowed[cell.number]!, class: protection)
            }
            probe.process.send(9)
            probe.process.wait()
            try mount.unmount()
        }

        /// Makes the call and compares; a refused one must have changed nothing that stat(2) shows.
        private func check(_ cell: Cell, _ protection: ProtectionClass, _ state: LockState) throws -> Bool {
            let expected = Expectation.table[cell.number].cell(protection, state)
            let before = try cell.probe.ask("stat", cell.path)
            let answer = try cell.perform()
            #expect(
                expected.fits(answer),
                "class \(protection), \(state): \(cell): expected \(expected), the answer is \(answer)")
            if !answer.succeeded {
                #expect(try cell.probe.ask("stat", cell.path) == before, "\(protection) \(state): \(cell): changed")
                #expect(try cell.probe.classOf(cell.path) == protection.rawValue)
            }
            return answer.succeeded
        }
    }
}
