internal import Door
internal import Host
internal import NetworkControl
internal import Queue
internal import Store
internal import Uploads

extension QueueCondition {
    /// Reads the links too.
    static func read(_ data: DataOptions, _ instance: Instance) async throws -> QueueCondition {
        let links = try await LinkSource(instance).readings()
        return try QueueCondition(instance, links: links, uploadProblem: await uploadProblem(data, instance))
    }

    /// Why the door refuses uploads of any size, or would refuse them; nil where there is no spool.
    static func uploadProblem(_ data: DataOptions, _ instance: Instance) async -> String? {
        SpoolFigures.read(instance.directory, await uploadLimits(data, instance.directory)) {
            (try? SpoolCheck(store: instance.store, spool: SpoolDirectory(path: instance.directory.uploads)).run())?
                .bytes ?? 0
        }?.problem
    }

    /// As the door would read them; the default where the configuration cannot be used.
    static func uploadLimits(_ data: DataOptions, _ directory: DataDirectory) async -> UploadLimits {
        (try? await ConfigurationFile(data, directory).door.limits) ?? UploadLimits()
    }
}
