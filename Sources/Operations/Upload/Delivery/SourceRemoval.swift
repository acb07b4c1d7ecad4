internal import Commands
internal import Work

/// What became of a source that was to be deleted after success.
struct SourceRemoval: Sendable {
    /// Why it is still there; nil when it is gone.
    var problem: String?

    init(problem: String?) { self.problem = problem }

    /// Deletes the source. A cancel that comes now is too late: the destination has said yes.
    init(deleting source: SourceFile) async {
        problem = await Task.detached {
            do { return try await BlockingIO.sources.run(at: source.path) { source.remove() } } catch {
                return "\(source.path) was kept: \((error as? CommandFailure)?.reason ?? "\(error)")"
            }
        }.value
    }

    func write(to writer: inout JSONWriter) {
        writer.member("sourceRemoved", problem == nil)
        if let problem { writer.member("sourceProblem", problem) }
    }
}
