internal import Commands
internal import Work

/// Whether the source was deleted after success, as requested.
struct SourceRemovalResult: Sendable {
    /// Why the source still exists; nil when it was deleted.
    var problem: String?

    init(problem: String?) { self.problem = problem }

    /// Deletes the source. A cancellation comes too late now, because the destination has confirmed the
    /// delivery.
    init(deleting source: SourceFile) async {
        problem = await Task.detached {
            do { return try await BlockingIO.sources.run(at: source.path) { source.remove() } } catch {
                return "\(source.path) was kept: \(error.words)"
            }
        }.value
    }

    func write(to writer: inout JSONWriter) {
        writer.member("sourceRemoved", problem == nil)
        if let problem { writer.member("sourceProblem", problem) }
    }
}
