public import Posix

extension Store {
    /// Punches a hole: the range reads as zeros and its space is freed, without a change of the file's size. If the
    /// store cannot do that, or has no space for it, writes zeros over the data in the range. After an error, any part
    /// may be done.
    ///
    /// - Parameter range: within the file.
    public func punch(_ file: Descriptor, _ range: Range<Int64>) throws(Errno) {
        do throws(Errno) {
            try allocate(
                file, mode: FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset: range.lowerBound,
                length: Int64(range.count))
        } catch {
            switch error {
            case .EOPNOTSUPP, .ENOSYS, .ENOSPC, .EDQUOT: try zero(file, range)
            default: throw error
            }
        }
    }

    private func zero(_ file: Descriptor, _ range: Range<Int64>) throws(Errno) {
        let zeros = [UInt8](repeating: 0, count: min(range.count, 64 << 10))
        var offset = range.lowerBound
        while let data = try nextData(of: file, from: offset), data < range.upperBound {
            let end = min(try nextHole(of: file, from: data) ?? range.upperBound, range.upperBound)
            offset = data
            while offset < end {
                let count = min(zeros.count, Int(end - offset))
                try unsafe write(zeros.span.bytes.extracting(0..<count), to: file, at: offset)
                offset += Int64(count)
            }
        }
    }

    /// Reserves space for a range of a file, also behind its end, so that a write there does not fail for lack of
    /// space. Does nothing if the store cannot do that.
    public func reserve(_ file: Descriptor, _ range: Range<Int64>) throws(Errno) {
        do throws(Errno) {
            try allocate(
                file, mode: FALLOC_FL_KEEP_SIZE, offset: range.lowerBound, length: Int64(range.count))
        } catch {
            guard error == .EOPNOTSUPP || error == .ENOSYS else { throw error }
        }
    }
}
