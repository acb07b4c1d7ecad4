/// Whether a URL accepts uploads by tus, according to its answer to OPTIONS.
struct TusSupport: Sendable, Equatable {
    var speaksTus: Bool
    /// `Tus-Max-Size` in bytes; nil where it is not stated.
    var maxSize: Int64?
}
