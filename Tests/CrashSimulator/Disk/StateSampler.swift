import TestStores
import TestSupport

/// Chooses the states that a crash is tried with: all of them if they are few, otherwise the extreme ones and a sample.
struct StateSampler {
    private let disk: SimulatedDisk
    private let files: [PendingContents]
    private let inodes: [RecordedInode]

    init(_ disk: SimulatedDisk) {
        self.disk = disk
        inodes = disk.pendingFiles
        files = inodes.map { disk.files[$0]! }
    }

    /// At most `limit` different choices, and whether they are all that exist.
    func choices(limit: Int, _ random: inout SeededRandom) -> (choices: [CrashChoice], areAll: Bool) {
        if let all = everything(limit: limit) { return (all, true) }
        var chosen: [CrashChoice] = []
        var known: Set<CrashChoice> = []
        func take(_ choice: CrashChoice) {
            if chosen.count < limit, known.insert(choice).inserted { chosen.append(choice) }
        }
        take(extreme(true))
        take(extreme(false))
        // At least half of them are random.
        for choice in oneApart(atMost: limit / 2, &random) { take(choice) }
        var tries = 0
        while chosen.count < limit, tries < 4 * limit {
            take(any(&random))
            tries += 1
        }
        return (chosen, false)
    }

    private func extreme(_ all: Bool) -> CrashChoice {
        let metadata = disk.pending.map { _ in all }
        return choice(metadata) { file, lengths in
            let whole = all ? file.all : file.none
            return PendingContents.Choice(length: all ? lengths.last! : lengths[0], sectors: whole.sectors)
        }
    }

    private func choice(
        _ metadata: [Bool], _ contents: (PendingContents, [Int]) -> PendingContents.Choice
    ) -> CrashChoice {
        CrashChoice(
            metadata: metadata,
            contents: zip(inodes, files).map { inode, file in contents(file, disk.lengths(of: inode, metadata)) })
    }

    // MARK: All

    /// Nil if there are more than `limit`.
    private func everything(limit: Int) -> [CrashChoice]? {
        guard disk.order == .ordered || disk.pending.count <= 16 else { return nil }
        let prefixes = disk.order == .ordered ? disk.pending.count + 1 : 1 << disk.pending.count
        guard disk.order == .unordered || prefixes <= limit else { return nil }
        let replaced = disk.order == .ordered ? [] : disk.replacements
        var all: [CrashChoice] = []
        for index in 0..<prefixes {
            let metadata = disk.pending.indices.map { disk.order == .ordered ? $0 < index : index >> $0 & 1 == 1 }
            // A change that a later durable one replaces has no effect: another choice gives the same state.
            if replaced.contains(where: { metadata[$0.later] && !metadata[$0.earlier] }) { continue }
            var partial = [CrashChoice(metadata: metadata, contents: [])]
            for (inode, file) in zip(inodes, files) {
                guard let ways = contents(of: file, lengths: disk.lengths(of: inode, metadata), limit: limit),
                    all.count + partial.count * ways.count <= limit
                else { return nil }
                partial = partial.flatMap { head in
                    ways.map { CrashChoice(metadata: metadata, contents: head.contents + [$0]) }
                }
            }
            all += partial
            guard all.count <= limit else { return nil }
        }
        return all
    }

    private func contents(of file: PendingContents, lengths: [Int], limit: Int) -> [PendingContents.Choice]? {
        var ways: [[Int]] = [[]]
        for count in file.touches.map(\.count) {
            guard ways.count * (count + 1) * lengths.count <= limit else { return nil }
            ways = ways.flatMap { head in (0...count).map { head + [$0] } }
        }
        return lengths.flatMap { length in ways.map { PendingContents.Choice(length: length, sectors: $0) } }
    }

    // MARK: One apart

    /// Everything but one change, and one change only; a random part of these choices if they are too many.
    private func oneApart(atMost limit: Int, _ random: inout SeededRandom) -> [CrashChoice] {
        var flips: [(Bool, Flip)] = []
        for all in [true, false] {
            flips += disk.pending.indices.map { (all, .metadata($0)) }
            for (index, file) in files.enumerated() {
                flips += [(all, .length(index)), (all, .contents(index))]
                flips += file.sectors.count <= 1024 ? file.sectors.indices.map { (all, .sector(index, $0)) } : []
            }
        }
        if flips.count > limit {
            flips.shuffle(using: &random)
            flips.removeSubrange(limit...)
        }
        return flips.map { all, flip in flipped(extreme(all), all, flip) }
    }

    private enum Flip {
        case metadata(Int)
        case length(Int)
        case contents(Int)
        case sector(Int, Int)
    }

    private func flipped(_ choice: CrashChoice, _ all: Bool, _ flip: Flip) -> CrashChoice {
        var choice = choice
        switch flip {
        case .metadata(let index):
            var metadata = choice.metadata
            if disk.order == .unordered {
                metadata[index].toggle()
            } else {
                // Everything before it has happened, nothing after it.
                metadata = metadata.indices.map { all ? $0 < index : $0 <= index }
            }
            return self.choice(metadata) { file, lengths in
                PendingContents.Choice(
                    length: all ? lengths.last! : lengths[0], sectors: (all ? file.all : file.none).sectors)
            }
        case .length(let index):
            let lengths = disk.lengths(of: inodes[index], choice.metadata)
            choice.contents[index].length = all ? lengths[0] : lengths.last!
        case .contents(let index):
            choice.contents[index].sectors = (all ? files[index].none : files[index].all).sectors
        case .sector(let index, let sector):
            choice.contents[index].sectors[sector] = all ? 0 : files[index].all.sectors[sector]
        }
        return choice
    }

    // MARK: Random

    private func any(_ random: inout SeededRandom) -> CrashChoice {
        let metadata: [Bool]
        if disk.order == .ordered {
            let count = Int.random(in: 0...disk.pending.count, using: &random)
            metadata = disk.pending.indices.map { $0 < count }
        } else {
            let percent = [10, 50, 90].randomElement(using: &random)!
            metadata = disk.pending.map { _ in random.chance(percent) }
        }
        var contents: [PendingContents.Choice] = []
        for (inode, file) in zip(inodes, files) {
            let lengths = disk.lengths(of: inode, metadata)
            let length =
                switch Int.random(in: 0..<3, using: &random) {
                case 0: lengths[0]
                case 1: lengths.last!
                default: lengths.randomElement(using: &random)!
                }
            contents.append(PendingContents.Choice(length: length, sectors: sectors(of: file, &random)))
        }
        return CrashChoice(metadata: metadata, contents: contents)
    }

    /// Torn writes: everywhere, at a few sectors, at one border, at one moment.
    private func sectors(of file: PendingContents, _ random: inout SeededRandom) -> [Int] {
        let all = file.all.sectors
        guard !all.isEmpty else { return [] }
        func few(_ sectors: [Int], _ other: (Int) -> Int) -> [Int] {
            var sectors = sectors
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0..<sectors.count, using: &random)
                sectors[index] = other(all[index])
            }
            return sectors
        }
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return all
        case 1: return all.map { _ in 0 }
        case 2: return all.map { Int.random(in: 0...$0, using: &random) }
        case 3: return few(all) { Int.random(in: 0..<$0, using: &random) }
        case 4: return few(all.map { _ in 0 }) { Int.random(in: 1...$0, using: &random) }
        case 5:
            let border = Int.random(in: 0...all.count, using: &random)
            let newFirst = Bool.random(using: &random)
            return all.indices.map { ($0 < border) == newFirst ? all[$0] : 0 }
        default:
            let step = Int.random(in: 0...file.steps.count, using: &random)
            return file.touches.map { touches in touches.count { $0 < step } }
        }
    }
}
