package import Host

/// The reason why commands of a quality wait for a link, for `explain`.
package struct LinkWaitReason: Sendable, Equatable {
    /// Which link, its level by which measure, and what that allows.
    package var sentence: String
    /// Since when it holds; nil where it did not begin at a known time.
    package var since: MonotonicTime?
    /// The condition that lifts it; nil where that is not known.
    package var remedy: String?

    package init(sentence: String, since: MonotonicTime? = nil, remedy: String? = nil) {
        self.sentence = sentence
        self.since = since
        self.remedy = remedy
    }
}
