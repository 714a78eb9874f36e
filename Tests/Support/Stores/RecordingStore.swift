public import Posix
public import Store

/// A store that records every change and every flush in the order in which they happened.
///
/// It makes changes one after the other, also those that threads ask for at the same time.
public typealias RecordingStore = InterceptingStore<Recorder>

extension InterceptingStore where Hook == Recorder {
    /// Reads the whole store: the record begins with what makes its contents over an empty folder, and a flush.
    ///
    /// - Parameter keepsMetadataOrder: what the vault is told. If true, only an ordered disk holds what it promises.
    public convenience init(_ base: any Store, keepsMetadataOrder: Bool = false) throws(Errno) {
        self.init(base, hook: try Recorder(base), keepsMetadataOrder: keepsMetadataOrder)
    }

    public var recorder: Recorder { hook }
}
