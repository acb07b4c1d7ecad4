/// What a level allows a quality of service.
package enum PolicyVerb: Sendable, Hashable {
    case run
    /// At most so many percent of the link, while something higher runs; all of it else.
    case throttle(percent: Int)
    /// No new ones; running ones stop writing.
    case pause
    /// No new ones; running ones are stopped at once and released.
    case preempt
    /// Running ones end in status 5. Never a default.
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

    /// The word in `sluice.yaml`.
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
