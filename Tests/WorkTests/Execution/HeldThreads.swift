import Synchronization

/// Keeps jobs until the test lets them run.
final class HeldThreads: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]?>([])

    var count: Int { jobs.withLock { $0?.count ?? 0 } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let runs = jobs.withLock { jobs in
            jobs?.append(job)
            return jobs == nil
        }
        if runs { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Runs what was kept, and from now on everything at once.
    func release() {
        let kept = jobs.withLock { jobs in
            defer { jobs = nil }
            return jobs ?? []
        }
        for job in kept { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
