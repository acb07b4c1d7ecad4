package import Host

/// What holds a quality back on a link, for `explain`.
package struct LinkWaitReason: Sendable, Equatable {
    /// Which link, how it stands by which measure, and what it allows.
    package var sentence: String
    /// When it began; nil where nothing began.
    package var since: MonotonicTime?
    /// What will lift it; nil where nobody can say.
    package var remedy: String?

    package init(sentence: String, since: MonotonicTime? = nil, remedy: String? = nil) {
        self.sentence = sentence
        self.since = since
        self.remedy = remedy
    }
}
