/// Why a file cannot be divided into parts.
struct PartPlanError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A sentence that names the numbers.
    var message: String

    init(_ message: String) { self.message = message }

    var description: String { message }
}
