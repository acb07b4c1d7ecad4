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
