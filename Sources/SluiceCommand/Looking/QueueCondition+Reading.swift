internal import Door
internal import Host
internal import NetworkControl
internal import Queue
internal import UploadSpool

extension QueueCondition {
    /// Reads the links too.
    static func read(_ data: DataOptions, _ queue: QueueAccess) async throws -> QueueCondition {
        let links = try await LinkSource(queue).readings()
        return try QueueCondition(queue, links: links, uploadProblem: await uploadProblem(data, queue))
    }

    /// Why the door refuses uploads of any size, or would refuse them; nil where there is no spool.
    static func uploadProblem(_ data: DataOptions, _ queue: QueueAccess) async -> String? {
        queue.spoolFigures(await uploadLimits(data, queue.directory))?.problem
    }

    /// As the door would read them; the default where the configuration cannot be used.
    static func uploadLimits(_ data: DataOptions, _ directory: DataDirectory) async -> UploadLimits {
        (try? await ConfigurationFile(data, directory).door.limits) ?? UploadLimits()
    }
}
