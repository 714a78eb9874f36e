extension Int {
    /// The nearest integer that exists; 0 for what is no number. A daemon of another user may say any number.
    init(clamping value: Double) {
        // The first number above Int.max; that one itself is no Double.
        let limit = 0x1p63
        self = value.isNaN ? 0 : value >= limit ? .max : value < -limit ? .min : Int(value)
    }
}
