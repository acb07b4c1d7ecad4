internal import Operations

/// How much a worker does at once, and how it stops.
package struct WorkerConfiguration: Sendable {
    /// Operations of middle and low quality at once; high quality has as many slots again.
    package var concurrency = 16
    /// How long running operations of high and middle quality may go on when the worker drains.
    package var grace: Duration = .seconds(25)
    /// How long a worker waits in all, after the grace, before it ends without its operations: an operation that
    /// needs all of ``CommandExecution/stopTimeout`` still has its outcome committed.
    package static let abandonTimeout: Duration = CommandExecution.stopTimeout + .seconds(3)
    /// Whether operations run on threads of their own (``OperationExecutor``), because they may block.
    package var operationsMayBlock = false
    /// A descriptor that reads end-of-file when the parent is gone: then the worker drains. Nil: there is
    /// none.
    package var parentDescriptor: Int32?
    /// Called four times a second by the loop: for a watchdog.
    package var beat: @Sendable () -> Void = {}

    /// The measurements of this process, as bodies of events. Called by the loop every 5 s.
    package var reports: @Sendable () -> [String] = { [] }

    package init() {}
}
