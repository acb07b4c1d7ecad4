internal import Commands
internal import Logging
internal import Queue

/// Applies the schedules of `sluice.yaml` while the coordinator runs. A problem with them is logged, and stops no command.
struct ScheduleApplication {
    let data: DataOptions
    let queue: QueueAccess
    let logger: Logger

    private static let firstPause: Duration = .seconds(1)
    private static let maxPause: Duration = .seconds(60)

    /// Tries again until all are applied: a worker may make a type known, a zone may be installed, and the store of an
    /// earlier release is migrated first. An edit of the file counts from the next start on.
    func run() async {
        var told: Set<String> = []
        func tell(_ error: any Error) {
            let message = ExitError(error).message ?? "\(error)"
            guard told.insert(message).inserted else { return }
            let passes = SluiceError(error).code == .tryAgain
            logger.log(
                level: passes ? .info : .error,
                "The schedules of sluice.yaml are not applied: \(message). Those in the store go on.")
        }
        let schedules: ConfiguredSchedules
        do {
            guard let read = try ConfiguredSchedules(data) else { return }
            schedules = read
        } catch {
            return tell(error)
        }
        var pause = Self.firstPause
        while !Task.isCancelled {
            do {
                for change in try await schedules.apply(to: queue) { logger.notice("\(change)") }
                return
            } catch {
                tell(error)
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.maxPause)
        }
    }
}
