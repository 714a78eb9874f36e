import Posix

extension Store {
    /// Makes the time of modification of a file that is about to replace another at least two seconds later than that
    /// one's, unless it already is. Otherwise a copier that compares sizes and seconds, or FAT's two seconds, would see
    /// no change.
    public func setTimeApart(of file: Descriptor, from replaced: Name, in directory: Descriptor) throws(Errno) {
        guard let last = try? status(of: replaced, in: directory).modified.seconds, last < Int64.max - 3 else { return }
        let later = (last + 3) & ~1
        if try status(of: file).modified.seconds < later {
            try setTimes(accessed: .keep, modified: .at(Timespec(seconds: later, nanoseconds: 0)), of: file)
        }
    }
}
