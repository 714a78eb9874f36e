extension KeybagFile {
    /// The incompatible feature of a vault whose directory records have generations: a program without it would take
    /// such a directory for damaged.
    public static let numberedDirectoriesFeature: UInt32 = 2

    static let knownFeatures = rotatingFeature | numberedDirectoriesFeature

    /// Whether a directory record gets a higher generation with each change. Not in a vault that an earlier version has
    /// made, until its keys are rotated.
    public var numbersDirectories: Bool { features.incompatible & Self.numberedDirectoriesFeature != 0 }

    public var canWrite: Bool {
        features.incompatible & ~Self.knownFeatures == 0 && features.readOnlyCompatible == 0
    }
}
