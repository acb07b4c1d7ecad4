internal import ArgumentParser
internal import Commands
internal import Queue

extension UniquePeriod {
    /// Reads the value of `--unique-for`.
    init(option text: String) throws {
        guard let period = UniquePeriod(text: text) else { throw ValidationError("it must be \(Self.forms).") }
        self = period
    }
}
