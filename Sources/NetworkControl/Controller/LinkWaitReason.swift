/// What holds a quality back on a link, for `explain`.
package struct LinkWaitReason: Sendable, Equatable {
    /// Which link, how it stands by which measure, and what it allows.
    package var sentence: String
    /// In nanoseconds of the monotonic clock; nil where nothing began.
    package var since: Int64?
    /// What will lift it; nil where nobody can say.
    package var remedy: String?

    package init(sentence: String, since: Int64? = nil, remedy: String? = nil) {
        self.sentence = sentence
        self.since = since
        self.remedy = remedy
    }
}
