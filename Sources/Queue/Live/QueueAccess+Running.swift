internal import Commands
package import Console
package import Store

extension QueueAccess {
    /// The workers, and the names and the progress of their commands.
    /// - Parameters:
    ///   - collector: has the progress of events; that of other commands is forgotten.
    ///   - descriptions: of earlier readings.
    package func workers(
        _ collector: WatchCollector, _ descriptions: inout RunningDescriptions
    ) throws(StoreError) -> [WorkerReading] {
        var workers = try workers()
        let ids = Set(workers.flatMap { $0.running.map(\.id) })
        collector.keepProgress(of: ids)
        defer { descriptions.keep(ids) }
        for worker in workers.indices {
            for command in workers[worker].running.indices {
                let id = workers[worker].running[command].id
                workers[worker].running[command].progress = collector.progress(of: id) ?? CommandProgress()
            }
            try descriptions.describe(&workers[worker].running, store)
        }
        return workers
    }
}
