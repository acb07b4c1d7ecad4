internal import Commands

/// Operations went on after the grace of a drain and after their cancellation.
package struct OperationsDidNotStop: Error, Sendable, CustomStringConvertible {
    package var types: [String]
    package var grace: Duration

    package var description: String {
        let names = Set(types).sorted().joined(separator: ", ")
        return "\(types.count) operations (\(names)) ignored their cancellation for "
            + "\(WorkerConfiguration.abandonTimeout.seconds) s after the grace of \(grace.seconds) s; the worker ends without "
            + "them, and their commands are released when this process has ended"
    }
}
