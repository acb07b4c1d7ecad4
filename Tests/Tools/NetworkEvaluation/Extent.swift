/// The arms of a scenario, and the number and length of their runs.
struct Extent: Sendable {
    var arms: [Arm]
    var repetitions: Int
    var seconds: Double
}
