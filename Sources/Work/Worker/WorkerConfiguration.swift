/// How much a worker does at once and how it stops. The defaults are the contract's.
package struct WorkerConfiguration: Sendable {
    /// Operations of middle and low quality at once; high quality has as many places again.
    package var concurrency = 16
    /// How long running operations of high and middle quality may go on when the worker drains.
    package var grace: Duration = .seconds(25)
    /// A descriptor that reads end-of-file when the parent is gone: the worker drains then. Nil: nobody watches.
    package var parentDescriptor: Int32?

    package init() {}
}
