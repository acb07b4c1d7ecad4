/// One run: a scenario with an arm, a congestion control, and the number of the repetition.
struct Job: Sendable, Hashable {
    var scenario: String
    var arm: Arm
    var congestion: String
    var repetition: Int
    var seconds: Double

    var text: String { "\(scenario) · \(arm.rawValue) · \(congestion) · \(repetition) · \(seconds.short) s" }
}
