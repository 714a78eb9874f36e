import Format
import Posix
import Store
import TestSupport

/// A vault of which one part stays unchanged while everything else is written to, made, moved and removed.
public struct BusyVault {
    public let recorded: RecordedVault
    private var random: SeededRandom
    private var files: [(name: Name, file: RecordedVault.OpenFile)] = []
    private let folder: RecordedVault.Folder
    private var number = 0

    /// - Parameters:
    ///   - order: as for `RecordedVault`.
    ///   - acts: the number of changes.
    public init(on order: SimulatedDisk.Order? = nil, acts: Int, seed: UInt64) throws {
        recorded = try RecordedVault(on: order)
        random = SeededRandom(seed)
        folder = try recorded.makeDirectory("shared")
        try makeUnchangedFiles()
        for index in 0..<5 {
            let name = Name(bytes: "busy \(index)".utf8)!
            files.append((name, try recorded.makeFile(name)))
            try recorded.write(random.bytes(20_000 * index), to: files[index].file, at: 0)
        }
        // Longer than the journal accepts.
        try recorded.synchronizeAll()
        for _ in 0..<acts { try act() }
        try recorded.synchronizeAll()
    }

    private mutating func makeUnchangedFiles() throws {
        let still = try recorded.makeDirectory("still", in: folder)
        for (index, size) in [0, 1, 4096, 10_000, 150_000].enumerated() {
            let name = Name(bytes: (String(repeating: "long ", count: 40 * (index % 2)) + "unchanged \(index)").utf8)!
            let file = try recorded.makeFile(
                name, in: index < 3 ? folder : still, ProtectionClass.allCases[index % 4])
            try recorded.write(random.bytes(size), to: file, at: 0)
        }
        let file = try recorded.makeFile("two links")
        try recorded.write(random.bytes(5000), to: file, at: 0)
        try recorded.link("two links", of: file, in: recorded.root, to: "the other", in: still)
        try recorded.makeSymbolicLink(to: "shared/still", "link")
    }

    private mutating func fresh() -> Name {
        number += 1
        return Name(bytes: ((number % 3 == 0 ? String(repeating: "long ", count: 40) : "") + "new \(number)").utf8)!
    }

    private mutating func act() throws {
        let index = Int.random(in: 0..<files.count, using: &random)
        let file = files[index].file
        let length = Int(file.file.length)
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<14:
            let bytes = random.bytes([1, 300, 4096, 9000, 30_000].randomElement(using: &random)!)
            let isAppend = length < 80_000 && Bool.random(using: &random)
            try recorded.write(
                bytes, to: file, at: isAppend ? length : Int.random(in: 0...length, using: &random))
        case 14..<28: try recorded.synchronize(file, dataOnly: true)
        case 28: try recorded.truncate(file, to: Int.random(in: 0...length, using: &random))
        case 29, 30: try recorded.synchronize(Bool.random(using: &random) ? folder : recorded.root)
        case 31: try recorded.setClass(ProtectionClass.allCases.randomElement(using: &random)!, of: file)
        case 32, 33:
            // An atomic save, in a folder that also holds unchanged files.
            let name = fresh()
            let new = try recorded.makeFile(name, in: folder)
            try recorded.write(random.bytes(6000), to: new, at: 0)
            try recorded.synchronize(new)
            try recorded.rename(name, of: new, in: folder, to: "saved")
        case 34:
            let name = fresh()
            try recorded.rename(files[index].name, of: file, to: name)
            files[index].name = name
        case 35:
            let name = fresh()
            let brief = try recorded.makeFile(name, in: folder)
            try recorded.write(random.bytes(100), to: brief, at: 0)
            try recorded.unlink(name, of: brief.inode, in: folder)
        case 36, 37:
            let (one, two) = (fresh(), fresh())
            let made = try recorded.makeDirectory(one, in: folder)
            let inside = try recorded.makeFile("inside", in: made)
            try recorded.write(random.bytes(5000), to: inside, at: 0)
            if Bool.random(using: &random) { try recorded.synchronize(inside) }
            try recorded.rename(one, of: made, in: folder, to: two, in: recorded.root)
            if Bool.random(using: &random) {
                try recorded.unlink("inside", of: inside.inode, in: made)
                try recorded.removeDirectory(two, made)
            }
        case 38:
            let name = fresh()
            try recorded.link(files[index].name, of: file, in: recorded.root, to: name, in: folder)
            try recorded.unlink(name, of: file.inode, in: folder)
        default: try recorded.synchronizeAll()
        }
    }
}
