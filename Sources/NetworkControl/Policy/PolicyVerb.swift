package import Commands

/// The rule of a level for a quality of service.
package enum PolicyVerb: Sendable, Hashable {
    case run
    /// At most this percentage of the link while a higher quality runs; otherwise all of it.
    case throttle(percent: Int)
    /// No new transfers; running ones stop writing.
    case pause
    /// No new transfers; running ones are stopped at once and released.
    case preempt
    /// Running transfers end in status 5. Never a default.
    case cancel

    /// Greater is stricter.
    var strictness: Int {
        switch self {
        case .run: 0
        case .throttle(let percent): 101 - min(max(percent, 0), 100)
        case .pause: 200
        case .preempt: 300
        case .cancel: 400
        }
    }

    static func stricter(_ left: Self, _ right: Self) -> Self { left.strictness >= right.strictness ? left : right }

    /// The name in `sluice.yaml`.
    package var name: String {
        switch self {
        case .run: "run"
        case .throttle(let percent): "throttle \(percent)%"
        case .pause: "pause"
        case .preempt: "preempt"
        case .cancel: "cancel"
        }
    }
}

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

/// One row of the policy: what each quality may do, and how many transfers of middle and low quality may run.
package struct PolicyRow: Sendable, Equatable {
    package var verbs: [QualityOfService: PolicyVerb]
    package var limit: Int

    /// - Parameter verbs: from `userInteractive` to `background`.
    package init(_ verbs: PolicyVerb..., limit: Int) {
        self.verbs = Dictionary(zip(QualityOfService.allCases, verbs)) { first, _ in first }
        self.limit = limit
    }

    package subscript(qos: QualityOfService) -> PolicyVerb {
        get { verbs[qos] ?? .run }
        set { verbs[qos] = newValue }
    }
}
