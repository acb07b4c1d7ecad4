extension PolicyVerb {
    /// The texts that ``init(text:)`` takes, for messages.
    package static let words = "run, throttle N%, pause, preempt or cancel"

    /// Reads ``name`` back: `run`, `throttle 25%`, `pause`, `preempt`, `cancel`. Percentages are not
    /// validated here.
    package init?(text: some StringProtocol) {
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        switch (words.first, words.count) {
        case ("run", 1): self = .run
        case ("pause", 1): self = .pause
        case ("preempt", 1): self = .preempt
        case ("cancel", 1): self = .cancel
        case ("throttle", 2):
            guard words[1].hasSuffix("%"), let percent = Int(words[1].dropLast()) else { return nil }
            self = .throttle(percent: percent)
        default: return nil
        }
    }

    /// The stricter of the two.
    package func noMilder(than other: Self) -> Self { .stricter(self, other) }
}
