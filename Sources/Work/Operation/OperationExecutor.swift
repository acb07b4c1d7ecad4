internal import Dispatch
internal import Host
internal import Synchronization

/// Runs operations on threads of their own, so that one that blocks its thread does not stop the worker, or the program
/// that the worker is a part of: the cooperative pool has as many threads as the machine has cores.
package final class OperationExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// Threads that wait for a job, less the jobs that one was woken for.
        var idle = 0
        var threads = 0
    }

    private let maxThreads: Int
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// - Parameter maxThreads: the maximum number of operations that may block at once. A thread is started when it is
    ///   needed, and stays.
    package init(maxThreads: Int) { self.maxThreads = maxThreads }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (wakes, starts) = state.withLock { state -> (Bool, Bool) in
            state.jobs.append(job)
            if state.idle > 0 {
                state.idle -= 1
                return (true, false)
            }
            guard state.threads < maxThreads else { return (false, false) }
            state.threads += 1
            return (false, true)
        }
        if wakes { wake.signal() }
        if starts { startThread(named: "sluice-operation") { [self] in run() } }
    }

    private func run() {
        while true {
            let job = state.withLock { state -> UnownedJob? in
                guard !state.jobs.isEmpty else {
                    state.idle += 1
                    return nil
                }
                return state.jobs.removeFirst()
            }
            if let job { job.runSynchronously(on: asUnownedTaskExecutor()) } else { wake.wait() }
        }
    }
}
