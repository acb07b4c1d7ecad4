internal import Door
internal import Inspection
internal import NetworkControl
internal import Store
internal import Uploads

extension QueueCondition {
    /// Reads the links too.
    static func read(_ data: DataOptions, _ instance: Instance) async throws -> QueueCondition {
        let links = try await LinkSource(instance).readings()
        return try QueueCondition(instance, links: links, uploadFloor: await uploadFloor(data, instance.directory))
    }

    /// Bytes that uploads leave free, as the door would read them; the default where the configuration cannot be used.
    static func uploadFloor(_ data: DataOptions, _ directory: DataDirectory) async -> Int64 {
        (try? await ConfigurationFile(data, directory).door.limits.minFree) ?? UploadLimits().minFree
    }
}
