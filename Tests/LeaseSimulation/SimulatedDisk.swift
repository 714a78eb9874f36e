import Sharing

/// What lies on the store: what machines see, and what a power loss leaves.
struct SimulatedDisk {
    struct Header: Equatable {
        var generation = 0
        var length = 0
        /// So many blocks are durable. Of those behind them, a crash may have lost some: the file ends before them.
        var confirmed = 0
    }

    struct File {
        var header = Header()
        var blocks: [Int] = []
        /// All that each part may be after a power loss.
        private var headers = [Header()]
        private var kept: [[Int]] = []

        mutating func write(_ header: Header) {
            self.header = header
            headers.append(header)
        }

        mutating func write(_ block: Int, at index: Int) {
            while blocks.count <= index {
                blocks.append(0)
                kept.append([0])
            }
            blocks[index] = block
            kept[index].append(block)
        }

        mutating func sync() {
            headers = [header]
            kept = blocks.map { [$0] }
        }

        mutating func losePower(_ choose: (Int) -> Int) {
            header = headers[choose(headers.count)]
            blocks = kept.map { $0[choose($0.count)] }
            sync()
        }
    }

    struct Record {
        enum Content {
            case block(Int, at: Int)
            case header(length: Int, confirmed: Int)
        }
        let file: Int
        let generation: Int
        let content: Content
    }

    struct Journal {
        var records: [Record] = []
        var synced = 0

        mutating func losePower(_ choose: (Int) -> Int) {
            records.removeLast(choose(records.count - synced + 1))
            synced = records.count
        }
    }

    var files: [File]
    /// Each name's file, as numbers, and all that it may be after a power loss.
    var folder: [Int]
    var folders: [[Int]]
    var journals: [MachineNumber: Journal] = [:]
    var members: [MachineNumber: MemberRecord] = [:]

    init(files count: Int) {
        files = Array(repeating: File(), count: count)
        folder = Array(0..<count)
        folders = [folder]
    }

    mutating func losePower(_ choose: (Int) -> Int) {
        for index in files.indices { files[index].losePower(choose) }
        folder = folders[choose(folders.count)]
        folders = [folder]
        for machine in journals.keys.sorted() { journals[machine]?.losePower(choose) }
    }
}
