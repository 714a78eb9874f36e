import Foundation
import TestSupport

@testable import CrashSimulator

/// What the files of the program `load` must hold. It prints each act before it, and "." after it.
struct LoadOracle {
    /// Files that are written in blocks; each block is the old or the new one.
    private var data = [FileHistory](repeating: FileHistory(), count: 3)
    /// Files that are replaced as a whole: one of these versions, the last being the newest. Nil means no file.
    private var docs = [[[UInt8]?]](repeating: [nil], count: 3)
    /// Files that are created, moved and removed, each durably. Nil if the file may exist or not: then the second array
    /// has the possible contents.
    private var new: [Int: (isCertain: Bool, bytes: [UInt8])] = [:]
    /// A move under way: the contents are at one of the two names.
    private var moving: (from: Int, to: Int, bytes: [UInt8])?

    /// The output of a load until it was refused.
    mutating func follow(_ text: String) throws {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        // An incomplete line was not acted upon.
        lines.removeLast()
        var index = 0
        while index < lines.count {
            let words = lines[index].split(separator: " ").map(String.init)
            if words.first == "refused" { break }
            let isDone = index + 1 < lines.count && lines[index + 1] == "."
            try follow(words[0], words.dropFirst().map { UInt64($0)! }, isDone)
            index += isDone ? 2 : 1
        }
    }

    private mutating func follow(_ act: String, _ numbers: [UInt64], _ isDone: Bool) throws {
        func bytes(_ count: UInt64, _ seed: UInt64) -> [UInt8] {
            var source = SeededRandom(seed)
            return source.bytes(Int(count))
        }
        let first = Int(numbers.first ?? 0)
        switch act {
        case "write": data[first].write(bytes(numbers[2], numbers[3]), at: Int(numbers[1]))
        case "truncate": data[first].truncate(to: Int(numbers[1]))
        case "sync": if isDone { data[first].synchronize() }
        case "save": docs[first].append(bytes(numbers[1], numbers[2]))
        case "syncdocs": if isDone { docs = docs.map { [$0.last!] } }
        case "make": new[first] = (isDone, bytes(numbers[1], numbers[2]))
        case "remove": if isDone { new[first] = nil } else { new[first]?.isCertain = false }
        case "move":
            let to = Int(numbers[1])
            guard let old = new.removeValue(forKey: first) else { throw HarnessError("a move of nothing") }
            if isDone { new[to] = old } else { moving = (first, to, old.bytes) }
        // The contents do not change by another descriptor or another class.
        case "reopen", "class": break
        default: throw HarnessError("the load said \(act)")
        }
    }

    /// What is wrong with a copy of the mount's contents. The next load continues from what is found.
    mutating func flaws(in path: String) throws -> [String] {
        var flaws: [String] = []
        for index in data.indices {
            guard let bytes = FileManager.default.contents(atPath: "\(path)/data\(index)").map({ [UInt8]($0) }) else {
                if data[index].isSaved { flaws.append("data\(index) is gone") }
                continue
            }
            if let flaw = data[index].flaw(in: bytes) { flaws.append("data\(index): \(flaw)") }
            // A killed daemon is no power loss: found contents stay.
            data[index].found(bytes)
            data[index].synchronize()
            let doc = FileManager.default.contents(atPath: "\(path)/docs/\(index)").map { [UInt8]($0) }
            if !docs[index].contains(where: { $0 == doc }) {
                flaws.append("docs/\(index) is none of \(docs[index].count) versions")
            }
            docs[index] = [doc]
        }
        flaws += newFlaws(in: path + "/new")
        return flaws
    }

    private mutating func newFlaws(in path: String) -> [String] {
        var flaws: [String] = []
        var found: [Int: (isCertain: Bool, bytes: [UInt8])] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            guard let number = Int(name.split(separator: " ").last ?? ""),
                let bytes = FileManager.default.contents(atPath: "\(path)/\(name)").map({ [UInt8]($0) })
            else {
                flaws.append("new/\(name.prefix(20)) cannot be read")
                continue
            }
            found[number] = (true, bytes)
        }
        if let moving {
            let places = [moving.from, moving.to].filter { found[$0] != nil }
            if places.count != 1 || found[places[0]]?.bytes != moving.bytes {
                flaws.append("a move of \(moving.from) to \(moving.to) left \(places)")
            }
            self.moving = nil
            new[moving.from] = found[moving.from]
            new[moving.to] = found[moving.to]
        }
        for (number, expected) in new {
            guard let bytes = found[number]?.bytes else {
                if expected.isCertain { flaws.append("new/\(number) is gone") }
                continue
            }
            // A file whose creation was under way may be short.
            let isRight = expected.isCertain ? bytes == expected.bytes : expected.bytes.starts(with: bytes)
            if !isRight { flaws.append("new/\(number) holds something else") }
        }
        for number in found.keys where new[number] == nil { flaws.append("new/\(number) was removed") }
        new = found
        return flaws
    }
}
