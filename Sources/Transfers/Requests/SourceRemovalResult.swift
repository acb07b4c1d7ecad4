package import Commands
package import Operations

/// Whether the source was deleted after success, as requested.
package struct SourceRemovalResult: Sendable {
    /// Why the source still exists; nil when it was deleted.
    var problem: String?
    /// The source still exists because the delivery is not confirmed.
    var isUnverified = false

    package init(problem: String?) { self.problem = problem }

    /// - Parameter problem: why the delivery is not confirmed.
    package init(unverified problem: String) {
        self.problem = problem
        isUnverified = true
    }

    /// Deletes the source. A cancellation comes too late now, because the destination has confirmed the
    /// delivery.
    package init(deleting source: SourceFile) async {
        problem = await Task.detached {
            do { return try await BlockingIO.sources.run(at: source.path) { source.remove() } } catch {
                return "\(source.path) was kept: \(error.words)"
            }
        }.value
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("sourceRemoved", problem == nil)
        if let problem { writer.member("sourceProblem", problem) }
        if isUnverified { writer.member("unverified", true) }
    }
}

extension CommandExecution {
    /// Whether this command may have written a file that was last modified at `time`: not if it was created
    /// later.
    ///
    /// Two seconds are tolerated, because HTTP counts whole seconds, some file systems count steps of two
    /// seconds, and clocks differ a little.
    package func mayHaveWritten(at time: Timestamp) -> Bool { time + .seconds(2) >= command.createdAt }
}
