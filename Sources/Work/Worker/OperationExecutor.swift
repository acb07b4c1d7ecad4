internal import Host

/// Runs operations on threads of their own, so that one that blocks its thread does not stop the worker, or the program
/// that the worker is a part of: the cooperative pool has as many threads as the machine has cores.
package final class OperationExecutor: TaskExecutor {
    private let pool: BlockingPool

    /// - Parameter maxThreads: the maximum number of operations that may block at once.
    package init(maxThreads: Int) { pool = BlockingPool(named: "sluice-operation", maxThreads: maxThreads) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.perform { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
