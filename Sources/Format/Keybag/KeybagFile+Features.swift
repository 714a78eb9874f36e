extension KeybagFile {
    /// The incompatible feature of a vault whose directory records have generations: a program without it would take
    /// such a directory for damaged.
    public static let numberedDirectoriesFeature: UInt32 = 2

    /// The incompatible feature of a vault in which files may have numbered blocks: a program without it would take
    /// such a file for damaged.
    public static let numberedBlocksFeature: UInt32 = 4
    /// The incompatible feature of a vault whose folder a program copies between machines: each machine has a journal
    /// of its own, and copies of the records of directories. A program without it would miss what the journals have.
    public static let synchronisedFeature: UInt32 = 16
    /// The features of a new vault.
    public static let featuresOfNew = numberedDirectoriesFeature | numberedBlocksFeature

    static let knownFeatures = rotatingFeature | featuresOfNew | synchronisedFeature

    /// Whether a directory record gets a higher generation with each change. Not in a vault that an earlier version has
    /// made, until its keys are rotated.
    public var numbersDirectories: Bool { features.incompatible & Self.numberedDirectoriesFeature != 0 }

    /// Whether a new file has numbered blocks.
    public var numbersBlocks: Bool { features.incompatible & Self.numberedBlocksFeature != 0 }

    /// Whether several machines change the vault in turns, each in its own copy of the folder.
    public var isSynchronised: Bool { features.incompatible & Self.synchronisedFeature != 0 }

    /// Makes the vault a synchronised one: several machines change it in turns, and its directory records are files.
    ///
    /// It gets the features of a new vault as well: a program that knows this one knows them.
    public mutating func becomeSynchronised() {
        features.incompatible |= Self.synchronisedFeature | Self.featuresOfNew
        settings = KeybagSettings(
            created: settings.created, nameMaximum: settings.nameMaximum, directoryRecords: .file,
            eraseAfter: settings.eraseAfter)
    }

    public var canWrite: Bool {
        features.incompatible & ~Self.knownFeatures == 0 && features.readOnlyCompatible == 0
    }
}
